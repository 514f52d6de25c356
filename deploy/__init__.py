"""How lagwarden gets to where it runs: the image, the Helm chart, and the scripts that write the chart's pages."""
