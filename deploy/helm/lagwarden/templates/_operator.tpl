{{/* Mode operator: the pod is the driver of a SparkApplication (spark.apache.org/v1), alone, with a local master. */}}

{{/* The version of Spark in the image. */}}
{{- define "lagwarden.spark.version" -}}
4.3.0
{{- end }}

{{/* A size of Spark, such as 512m, in bytes. */}}
{{- define "lagwarden.spark.bytes" -}}
{{- include "lagwarden.bytes" (printf "%s%si" (regexFind "^[0-9]+" .) (regexFind "[kmgt]$" (lower .) | upper)) -}}
{{- end }}

{{/*
Settings that Spark builds the pod from. It replaces the requests and limits of the template: both are heap and overhead
together, so the overhead is what the limit leaves.
*/}}
{{- define "lagwarden.operator.conf" -}}
{{- $heap := include "lagwarden.spark.bytes" .Values.config.job.driver_memory | int64 -}}
{{- $limit := include "lagwarden.bytes" (toString .Values.resources.limits.memory) | int64 -}}
spark.kubernetes.driver.master: {{ .Values.config.job.master | quote }}
spark.kubernetes.container.image: {{ include "lagwarden.image" . }}
spark.kubernetes.container.image.pullPolicy: {{ .Values.image.pullPolicy }}
spark.kubernetes.driver.podTemplateContainerName: lagwarden
spark.kubernetes.authenticate.driver.serviceAccountName: {{ include "lagwarden.serviceAccount" . }}
spark.driver.memory: {{ printf "%dm" (div $heap 1048576) | quote }}
spark.driver.memoryOverhead: {{ printf "%dm" (div (sub $limit $heap) 1048576) | quote }}
{{- with dig "requests" "cpu" "" .Values.resources }}
spark.kubernetes.driver.request.cores: {{ . | quote }}
{{- end }}
{{- with dig "limits" "cpu" "" .Values.resources }}
spark.kubernetes.driver.limit.cores: {{ . | quote }}
{{- end }}
{{- end }}

{{/* The claim of the checkpoint, which no StatefulSet creates here; empty if the chart creates none. */}}
{{- define "lagwarden.operator.claim" -}}
{{- with include "lagwarden.claim" . -}}
{{- $claim := fromYaml . -}}
{{- $annotations := $claim.metadata.annotations | default dict -}}
{{- if eq $.Values.persistence.whenDeleted "Retain" -}}
{{- $_ := set $annotations "helm.sh/resource-policy" "keep" -}}
{{- end -}}
{{- $metadata := dict "name" (include "lagwarden.claim.name" $) "namespace" $.Release.Namespace "labels" (include "lagwarden.labels" $ | fromYaml) -}}
{{- if $annotations -}}
{{- $_ := set $metadata "annotations" $annotations -}}
{{- end -}}
{{- $_ := set $claim "metadata" $metadata -}}
{{- toYaml $claim -}}
{{- end -}}
{{- end }}

{{- define "lagwarden.operator.contradictions" -}}
{{- if eq .Values.mode "operator" -}}
{{- if gt (int .Values.shards) 1 -}}
{{- fail "shards: is 1 with mode operator; the pods of a SparkApplication have no numbers" -}}
{{- end -}}
{{- if not (dig "limits" "memory" "" .Values.resources) -}}
{{- fail "resources.limits.memory: is needed with mode operator: Spark sets the memory of the pod" -}}
{{- end -}}
{{- end -}}
{{- end }}
