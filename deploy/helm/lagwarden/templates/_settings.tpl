{{/* How values become lagwarden's settings: the file it reads, and the variables that say where the chart put things. */}}

{{/* Fails before anything is rendered if values that are each valid contradict each other. */}}
{{- define "lagwarden.contradictions" -}}
{{- $kafka := .Values.config.kafka -}}
{{- $protocol := default "PLAINTEXT" $kafka.security_protocol -}}
{{- $missing := list -}}
{{- if and (not $kafka.bootstrap_servers) (not .Values.bootstrapServersFrom) -}}
{{- $missing = append $missing "config.kafka.bootstrap_servers: name the brokers to begin with, such as [broker-1:9092], or set bootstrapServersFrom" -}}
{{- end -}}
{{- if and $kafka.bootstrap_servers .Values.bootstrapServersFrom -}}
{{- fail "bootstrapServersFrom: has no effect beside config.kafka.bootstrap_servers; leave one of them out" -}}
{{- end -}}
{{- if not .Values.image.repository -}}
{{- $missing = append $missing "image.repository: name the image, such as registry.example/lagwarden; no registry has a public one yet, so build it with deploy/Dockerfile" -}}
{{- end -}}
{{- with $missing -}}
{{- fail (join "\n" .) -}}
{{- end -}}
{{- if gt (len .Values.bootstrapServersFrom) 1 -}}
{{- fail "bootstrapServersFrom: takes secretKeyRef or configMapKeyRef, not both" -}}
{{- end -}}
{{- $mechanism := ternary (default "" $kafka.sasl_mechanism) "" (hasPrefix "SASL" $protocol) -}}
{{- $login := ternary (printf "sasl_mechanism %s" $mechanism) (printf "security_protocol %s" $protocol) (ne $mechanism "") -}}
{{- $sasl := .Values.credentials.sasl -}}
{{- $oauth := .Values.credentials.oauth -}}
{{- if and (hasPrefix "SASL" $protocol) (not (has $mechanism (list "OAUTHBEARER" "AWS_MSK_IAM"))) -}}
{{- if not $sasl.existingSecret -}}
{{- fail (printf "credentials.sasl.existingSecret: is needed with config.kafka.security_protocol %s" $protocol) -}}
{{- end -}}
{{- if not (or $kafka.sasl_username $sasl.usernameKey) -}}
{{- fail "config.kafka.sasl_username: name the user, or set credentials.sasl.usernameKey" -}}
{{- end -}}
{{- if and $kafka.sasl_username $sasl.usernameKey -}}
{{- fail "credentials.sasl.usernameKey: has no effect beside config.kafka.sasl_username; leave one of them out" -}}
{{- end -}}
{{- else if $sasl.existingSecret -}}
{{- fail (printf "credentials.sasl.existingSecret: has no effect with config.kafka.%s" $login) -}}
{{- end -}}
{{- if eq $mechanism "OAUTHBEARER" -}}
{{- if and $oauth.existingSecret $oauth.serviceAccountToken.audience -}}
{{- fail "credentials.oauth: takes existingSecret or serviceAccountToken.audience, not both" -}}
{{- end -}}
{{- if not (or $oauth.existingSecret $oauth.serviceAccountToken.audience) -}}
{{- fail "credentials.oauth: set existingSecret (client credentials) or serviceAccountToken.audience with config.kafka.sasl_mechanism OAUTHBEARER" -}}
{{- end -}}
{{- if and $oauth.existingSecret (not $kafka.oauth_token_endpoint) -}}
{{- fail "config.kafka.oauth_token_endpoint: is needed with credentials.oauth.existingSecret" -}}
{{- end -}}
{{- if and $oauth.existingSecret (not (or $kafka.oauth_client_id $oauth.clientIdKey)) -}}
{{- fail "config.kafka.oauth_client_id: name the client, or set credentials.oauth.clientIdKey" -}}
{{- end -}}
{{- if and $kafka.oauth_client_id $oauth.clientIdKey -}}
{{- fail "credentials.oauth.clientIdKey: has no effect beside config.kafka.oauth_client_id; leave one of them out" -}}
{{- end -}}
{{- else -}}
{{- range $name, $given := dict "existingSecret" $oauth.existingSecret "serviceAccountToken.audience" $oauth.serviceAccountToken.audience -}}
{{- if $given -}}
{{- fail (printf "credentials.oauth.%s: has no effect with config.kafka.%s" $name $login) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $ca := .Values.credentials.ca -}}
{{- if and $ca.existingSecret $ca.existingConfigMap -}}
{{- fail "credentials.ca: takes existingSecret or existingConfigMap, not both" -}}
{{- end -}}
{{- if not (hasSuffix "SSL" $protocol) -}}
{{- range $name, $given := dict "ca.existingSecret" $ca.existingSecret "ca.existingConfigMap" $ca.existingConfigMap "client.existingSecret" .Values.credentials.client.existingSecret -}}
{{- if $given -}}
{{- fail (printf "credentials.%s: has no effect with config.kafka.security_protocol %s" $name $protocol) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "lagwarden.http.contradictions" . -}}
{{- include "lagwarden.otlp.contradictions" . -}}
{{- include "lagwarden.pod.contradictions" . -}}
{{- include "lagwarden.instances.contradictions" . -}}
{{- end }}

{{/* The configuration file: config as it stands, less what stands elsewhere. */}}
{{- define "lagwarden.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- if .Values.bootstrapServersFrom -}}
{{- $_ := unset $config.kafka "bootstrap_servers" -}}
{{- end -}}
{{- $links := dict -}}
{{- with .Values.rules.grafanaUrl -}}
{{- $_ := set $links "grafana_url" . -}}
{{- end -}}
{{- with .Values.rules.runbookUrl -}}
{{- $_ := set $links "runbook_url" . -}}
{{- end -}}
{{- if or .Values.rules.pageUrl .Values.ingress.enabled -}}
{{- $_ := set $links "external_url" (include "lagwarden.pages" .) -}}
{{- end -}}
{{- if $links -}}
{{- $_ := set $config "http" (merge (default dict $config.http) $links) -}}
{{- end -}}
{{- if eq .Values.mode "cluster" -}}
{{- $job := include "lagwarden.cluster.job" . | fromYaml -}}
{{- $_ := set $job "spark_options" (merge $job.spark_options (default dict (default dict $config.job).spark_options)) -}}
{{- $_ := set $config "job" (mergeOverwrite (default dict $config.job) $job) -}}
{{- end -}}
{{ toYaml $config }}
{{- end }}

{{/* The options that need a restart: without those that lagwarden reads again when the file changes (docs/config.md). */}}
{{- define "lagwarden.config.fixed" -}}
{{- $config := include "lagwarden.config" . | fromYaml -}}
{{- range $section := list "groups" "metrics" -}}
{{- with omit (default dict (get $config $section)) "owners" "maintenance" "silences" "targets" -}}
{{- $_ := set $config $section . -}}
{{- else -}}
{{- $_ := unset $config $section -}}
{{- end -}}
{{- end -}}
{{ toYaml $config }}
{{- end }}

{{- define "lagwarden.environment" -}}
{{- $credentials := .Values.credentials -}}
- name: LAGWARDEN_CONFIG
  value: /etc/lagwarden/lagwarden.yaml
{{- with .Values.objectStore }}
- name: LAGWARDEN_CHECKPOINT_DIR
  value: {{ default "/var/lib/lagwarden/checkpoint" .address }}
{{- if .address }}
- name: LAGWARDEN_CHECKPOINT_S3_JARS
  value: {{ .jars }}
{{- with .endpoint }}
- name: LAGWARDEN_CHECKPOINT_S3_ENDPOINT
  value: {{ . }}
{{- end }}
{{- with .region }}
- name: LAGWARDEN_CHECKPOINT_S3_REGION
  value: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq .Values.mode "cluster" }}
- name: LAGWARDEN_CHECKPOINT_SHARED
  value: "true"
{{- end }}
{{- include "lagwarden.http.environment" . }}
{{- include "lagwarden.otlp.environment" . }}
{{- include "lagwarden.instances.environment" . }}
{{- with .Values.bootstrapServersFrom }}
- name: LAGWARDEN_KAFKA_BOOTSTRAP_SERVERS
  valueFrom:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- if $credentials.sasl.existingSecret }}
{{- with $credentials.sasl.usernameKey }}
- name: LAGWARDEN_KAFKA_SASL_USERNAME
  valueFrom:
    secretKeyRef:
      name: {{ $credentials.sasl.existingSecret }}
      key: {{ . }}
{{- end }}
- name: LAGWARDEN_KAFKA_SASL_PASSWORD_FILE
  value: /run/secrets/lagwarden/sasl/password
{{- end }}
{{- if $credentials.oauth.existingSecret }}
{{- with $credentials.oauth.clientIdKey }}
- name: LAGWARDEN_KAFKA_OAUTH_CLIENT_ID
  valueFrom:
    secretKeyRef:
      name: {{ $credentials.oauth.existingSecret }}
      key: {{ . }}
{{- end }}
- name: LAGWARDEN_KAFKA_OAUTH_CLIENT_SECRET_FILE
  value: /run/secrets/lagwarden/oauth/client-secret
{{- if $credentials.oauth.caKey }}
- name: LAGWARDEN_KAFKA_OAUTH_CA_FILE
  value: /run/secrets/lagwarden/oauth/ca.crt
{{- end }}
{{- else if $credentials.oauth.serviceAccountToken.audience }}
- name: LAGWARDEN_KAFKA_OAUTH_TOKEN_FILE
  value: /run/secrets/lagwarden/oauth/token
{{- end }}
{{- if or $credentials.ca.existingSecret $credentials.ca.existingConfigMap }}
- name: LAGWARDEN_KAFKA_SSL_CA_FILE
  value: /run/secrets/lagwarden/ca/ca.crt
{{- end }}
{{- if $credentials.client.existingSecret }}
- name: LAGWARDEN_KAFKA_SSL_CERTIFICATE_FILE
  value: /run/secrets/lagwarden/client/tls.crt
- name: LAGWARDEN_KAFKA_SSL_KEY_FILE
  value: /run/secrets/lagwarden/client/tls.key
{{- if $credentials.client.passwordKey }}
- name: LAGWARDEN_KAFKA_SSL_KEY_PASSWORD_FILE
  value: /run/secrets/lagwarden/client/password
{{- end }}
{{- end }}
{{- end }}

{{- define "lagwarden.mounts" -}}
{{- $credentials := .Values.credentials -}}
- name: checkpoint
  mountPath: /var/lib/lagwarden
- name: tmp
  mountPath: /tmp
- name: config
  mountPath: /etc/lagwarden
  readOnly: true
{{- if include "lagwarden.http.files" . }}
- name: http
  mountPath: /run/secrets/lagwarden/http
  readOnly: true
{{- end }}
{{- if include "lagwarden.otlp.files" . }}
- name: otlp
  mountPath: /run/secrets/lagwarden/otlp
  readOnly: true
{{- end }}
{{- if $credentials.sasl.existingSecret }}
- name: sasl
  mountPath: /run/secrets/lagwarden/sasl
  readOnly: true
{{- end }}
{{- if or $credentials.oauth.existingSecret $credentials.oauth.serviceAccountToken.audience }}
- name: oauth
  mountPath: /run/secrets/lagwarden/oauth
  readOnly: true
{{- end }}
{{- if or $credentials.ca.existingSecret $credentials.ca.existingConfigMap }}
- name: ca
  mountPath: /run/secrets/lagwarden/ca
  readOnly: true
{{- end }}
{{- if $credentials.client.existingSecret }}
- name: client
  mountPath: /run/secrets/lagwarden/client
  readOnly: true
{{- end }}
{{- end }}

{{/* Every volume but the checkpoint's. Of a Secret only the keys that are needed are mounted. */}}
{{- define "lagwarden.volumes" -}}
{{- $credentials := .Values.credentials -}}
- name: tmp
  emptyDir:
    sizeLimit: {{ .Values.tmp.sizeLimit }}
- name: config
  configMap:
    name: {{ include "lagwarden.fullname" . }}
{{- with include "lagwarden.http.files" . }}
- name: http
  projected:
    defaultMode: 0440
    sources:
      {{- . | trim | nindent 6 }}
{{- end }}
{{- with include "lagwarden.otlp.files" . }}
- name: otlp
  projected:
    defaultMode: 0440
    sources:
      {{- . | trim | nindent 6 }}
{{- end }}
{{- with $credentials.sasl }}
{{- if .existingSecret }}
- name: sasl
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .passwordKey }}
        path: password
{{- end }}
{{- end }}
{{- with $credentials.oauth }}
{{- if .existingSecret }}
- name: oauth
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .clientSecretKey }}
        path: client-secret
      {{- with .caKey }}
      - key: {{ . }}
        path: ca.crt
      {{- end }}
{{- else if .serviceAccountToken.audience }}
- name: oauth
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken:
          audience: {{ .serviceAccountToken.audience | quote }}
          expirationSeconds: {{ int .serviceAccountToken.expirationSeconds }}
          path: token
{{- end }}
{{- end }}
{{- with $credentials.ca }}
{{- if .existingSecret }}
- name: ca
  secret:
    secretName: {{ .existingSecret }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- else if .existingConfigMap }}
- name: ca
  configMap:
    name: {{ .existingConfigMap }}
    items:
      - key: {{ .key }}
        path: ca.crt
{{- end }}
{{- end }}
{{- with $credentials.client }}
{{- if .existingSecret }}
- name: client
  secret:
    secretName: {{ .existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .certificateKey }}
        path: tls.crt
      - key: {{ .privateKeyKey }}
        path: tls.key
      {{- with .passwordKey }}
      - key: {{ . }}
        path: password
      {{- end }}
{{- end }}
{{- end }}
{{- end }}
