{{/* Several pods that share the groups of a cluster: which part each one has, and where the others are. */}}

{{/* The name of the pod ends in its number, which is the number of its part. */}}
{{- define "lagwarden.instances.environment" -}}
{{- if gt (int .Values.shards) 1 }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: LAGWARDEN_JOB_INSTANCE
  value: $(POD_NAME)/{{ .Values.shards }}
- name: LAGWARDEN_HTTP_SIBLINGS
  value: {{ include "lagwarden.instances.urls" . }}
{{- end }}
{{- end }}

{{/* The address of each pod, in the order of their parts. */}}
{{- define "lagwarden.instances.urls" -}}
{{- $urls := list -}}
{{- range $number := until (int .Values.shards) -}}
{{- $host := printf "%s-%d.%s.svc" (include "lagwarden.fullname" $) $number $.Release.Namespace -}}
{{- $urls = append $urls (printf "%s://%s:%d" (include "lagwarden.http.scheme" $) $host (int $.Values.service.port)) -}}
{{- end -}}
{{ join "," $urls }}
{{- end }}

{{- define "lagwarden.instances.contradictions" -}}
{{- if and (gt (int .Values.shards) 1) .Values.persistence.enabled .Values.persistence.existingClaim -}}
{{- fail (printf "persistence.existingClaim: is one volume for %d pods (shards); leave it out, and each gets its own" (int .Values.shards)) -}}
{{- end -}}
{{- end }}
