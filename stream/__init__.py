"""The trunk: joins the decoders and the exporters with Spark and with the cluster."""
