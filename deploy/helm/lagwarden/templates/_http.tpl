{{/* TLS and login of the HTTP server: its files in the pod, and the settings of its clients. */}}

{{/* The Secret with the server's certificate; empty without TLS. */}}
{{- define "lagwarden.http.certificate" -}}
{{- with .Values.http -}}
{{- if .certificate.existingSecret -}}
{{ .certificate.existingSecret }}
{{- else if .webConfig.tls -}}
{{ .webConfig.existingSecret }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "lagwarden.http.scheme" -}}
{{ ternary "https" "http" (ne (include "lagwarden.http.certificate" .) "") }}
{{- end }}

{{/* The name in the certificate: the one of the Service. */}}
{{- define "lagwarden.http.host" -}}
{{ include "lagwarden.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* The web configuration file that the chart writes; empty if there is none, or if a Secret has it. */}}
{{- define "lagwarden.http.webConfig" -}}
{{- if and (include "lagwarden.http.certificate" .) (not .Values.http.webConfig.existingSecret) -}}
tls_server_config:
  cert_file: /run/secrets/lagwarden/http/tls.crt
  key_file: /run/secrets/lagwarden/http/tls.key
{{- end -}}
{{- end }}

{{/* The files beside each other in one folder: of each Secret only the keys that are needed. */}}
{{- define "lagwarden.http.files" -}}
{{- with .Values.http -}}
{{- if .webConfig.existingSecret }}
- secret:
    name: {{ .webConfig.existingSecret }}
    items:
      - key: {{ .webConfig.key }}
        path: web.yaml
{{- end }}
{{- with include "lagwarden.http.certificate" $ }}
- secret:
    name: {{ . }}
    items:
      - key: {{ $.Values.http.certificate.certificateKey }}
        path: tls.crt
      - key: {{ $.Values.http.certificate.privateKeyKey }}
        path: tls.key
      {{- with $.Values.http.certificate.caKey }}
      - key: {{ . }}
        path: ca.crt
      {{- end }}
{{- end }}
{{- if .bearerToken.existingSecret }}
- secret:
    name: {{ .bearerToken.existingSecret }}
    items:
      - key: {{ .bearerToken.key }}
        path: token
{{- end }}
{{- end -}}
{{- end }}

{{/* What the server reads, then what the commands in the pod (lagwarden top, explain) need to ask it. */}}
{{- define "lagwarden.http.environment" -}}
{{- $folder := "/run/secrets/lagwarden/http" -}}
{{- if .Values.http.webConfig.existingSecret }}
- name: LAGWARDEN_HTTP_WEB_CONFIG
  value: {{ $folder }}/web.yaml
{{- else if include "lagwarden.http.webConfig" . }}
- name: LAGWARDEN_HTTP_WEB_CONFIG
  value: /etc/lagwarden/web.yaml
{{- end }}
{{- if .Values.http.bearerToken.existingSecret }}
- name: LAGWARDEN_HTTP_BEARER_TOKEN_FILE
  value: {{ $folder }}/token
- name: LAGWARDEN_TOKEN_FILE
  value: {{ $folder }}/token
{{- end }}
{{- if include "lagwarden.http.certificate" . }}
- name: LAGWARDEN_URL
  value: https://{{ include "lagwarden.http.host" . }}:10848
{{- if .Values.http.certificate.caKey }}
- name: LAGWARDEN_CA_FILE
  value: {{ $folder }}/ca.crt
{{- end }}
{{- end }}
{{- end }}

{{/* In the pod the name in the certificate is the pod itself, so that its commands need no way through the Service. */}}
{{- define "lagwarden.http.hostAliases" -}}
{{- if include "lagwarden.http.certificate" . -}}
- ip: 127.0.0.1
  hostnames: [{{ include "lagwarden.http.host" . }}]
{{- end -}}
{{- end }}

{{/* A probe. Kubelets check no certificate, and /livez and /readyz need no login. */}}
{{- define "lagwarden.http.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  {{- if include "lagwarden.http.certificate" .root }}
  scheme: HTTPS
  {{- end }}
{{- end }}

{{/* Scheme, trust and login of a ServiceMonitor's endpoint. */}}
{{- define "lagwarden.http.scrape" -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if include "lagwarden.http.certificate" . }}
{{- $trusted := dict "serverName" (include "lagwarden.http.host" .) }}
{{- if and .Values.http.certificate.caKey (not (hasKey $monitor.tlsConfig "ca")) (not $monitor.tlsConfig.caFile) }}
{{- $ca := dict "name" (include "lagwarden.http.certificate" .) "key" .Values.http.certificate.caKey }}
{{- $_ := set $trusted "ca" (dict "secret" $ca) }}
{{- end }}
scheme: https
tlsConfig:
  {{- toYaml (merge (deepCopy $monitor.tlsConfig) $trusted) | nindent 2 }}
{{- end }}
{{- if $monitor.basicAuth }}
basicAuth:
  {{- toYaml $monitor.basicAuth | nindent 2 }}
{{- else if $monitor.authorization }}
authorization:
  {{- toYaml $monitor.authorization | nindent 2 }}
{{- else if .Values.http.bearerToken.existingSecret }}
authorization:
  credentials:
    name: {{ .Values.http.bearerToken.existingSecret }}
    key: {{ .Values.http.bearerToken.key }}
{{- end }}
{{- end }}

{{- define "lagwarden.http.contradictions" -}}
{{- $http := .Values.http -}}
{{- $monitor := .Values.serviceMonitor -}}
{{- if and $http.webConfig.existingSecret (not $http.webConfig.tls) $http.certificate.existingSecret -}}
{{- fail "http.certificate.existingSecret: has no effect with http.webConfig.tls: false" -}}
{{- end -}}
{{- if and $monitor.basicAuth $monitor.authorization -}}
{{- fail "serviceMonitor: takes basicAuth or authorization, not both" -}}
{{- end -}}
{{- if and $monitor.basicAuth (not $http.webConfig.existingSecret) -}}
{{- fail "serviceMonitor.basicAuth: has no effect without http.webConfig.existingSecret, which has the users" -}}
{{- end -}}
{{- if and $monitor.authorization (not $http.bearerToken.existingSecret) -}}
{{- fail "serviceMonitor.authorization: has no effect without http.bearerToken.existingSecret" -}}
{{- end -}}
{{- if and $monitor.tlsConfig (not (include "lagwarden.http.certificate" .)) -}}
{{- fail "serviceMonitor.tlsConfig: has no effect without http.webConfig.existingSecret or http.certificate.existingSecret" -}}
{{- end -}}
{{- if and $monitor.enabled $monitor.namespace (ne $monitor.namespace .Release.Namespace) -}}
{{- $scrape := include "lagwarden.http.scrape" . | fromYaml -}}
{{- if and $http.bearerToken.existingSecret (not $monitor.basicAuth) (not $monitor.authorization) -}}
{{- fail "serviceMonitor.authorization: is needed, because a ServiceMonitor in another namespace cannot use the Secret of http.bearerToken" -}}
{{- end -}}
{{- if and (dig "tlsConfig" "ca" "" $scrape) (not $monitor.tlsConfig.ca) -}}
{{- fail "serviceMonitor.tlsConfig.ca: is needed, because a ServiceMonitor in another namespace cannot use the Secret of http.certificate.caKey" -}}
{{- end -}}
{{- end -}}
{{- end }}
