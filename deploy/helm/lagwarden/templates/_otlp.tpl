{{/* The files of the export by OTLP: headers, authorities and client certificate. The other options are config.otlp. */}}

{{/* The files beside each other in one folder; empty without any. */}}
{{- define "lagwarden.otlp.files" -}}
{{- with .Values.credentials.otlp -}}
{{- if .headers.existingSecret }}
- secret:
    name: {{ .headers.existingSecret }}
    items:
      - key: {{ .headers.key }}
        path: headers
{{- end }}
{{- if .ca.existingSecret }}
- secret:
    name: {{ .ca.existingSecret }}
    items:
      - key: {{ .ca.key }}
        path: ca.crt
{{- else if .ca.existingConfigMap }}
- configMap:
    name: {{ .ca.existingConfigMap }}
    items:
      - key: {{ .ca.key }}
        path: ca.crt
{{- end }}
{{- if .client.existingSecret }}
- secret:
    name: {{ .client.existingSecret }}
    items:
      - key: {{ .client.certificateKey }}
        path: tls.crt
      - key: {{ .client.privateKeyKey }}
        path: tls.key
{{- end }}
{{- end -}}
{{- end }}

{{- define "lagwarden.otlp.environment" -}}
{{- $folder := "/run/secrets/lagwarden/otlp" -}}
{{- with .Values.credentials.otlp -}}
{{- if .headers.existingSecret }}
- name: LAGWARDEN_OTLP_HEADERS_FILE
  value: {{ $folder }}/headers
{{- end }}
{{- if or .ca.existingSecret .ca.existingConfigMap }}
- name: LAGWARDEN_OTLP_CA_FILE
  value: {{ $folder }}/ca.crt
{{- end }}
{{- if .client.existingSecret }}
- name: LAGWARDEN_OTLP_CERTIFICATE_FILE
  value: {{ $folder }}/tls.crt
- name: LAGWARDEN_OTLP_KEY_FILE
  value: {{ $folder }}/tls.key
{{- end }}
{{- end -}}
{{- end }}

{{- define "lagwarden.otlp.contradictions" -}}
{{- $otlp := .Values.credentials.otlp -}}
{{- $endpoint := default "" (default dict .Values.config.otlp).endpoint -}}
{{- if and $otlp.ca.existingSecret $otlp.ca.existingConfigMap -}}
{{- fail "credentials.otlp.ca: takes existingSecret or existingConfigMap, not both" -}}
{{- end -}}
{{- if and $otlp.headers.existingSecret (not $endpoint) -}}
{{- fail "credentials.otlp.headers.existingSecret: has no effect without config.otlp.endpoint" -}}
{{- end -}}
{{- range $name, $given := dict "ca.existingSecret" $otlp.ca.existingSecret "ca.existingConfigMap" $otlp.ca.existingConfigMap "client.existingSecret" $otlp.client.existingSecret -}}
{{- if and $given (not (hasPrefix "https" $endpoint)) -}}
{{- fail (printf "credentials.otlp.%s: has no effect without an https URL in config.otlp.endpoint" $name) -}}
{{- end -}}
{{- end -}}
{{- end }}
