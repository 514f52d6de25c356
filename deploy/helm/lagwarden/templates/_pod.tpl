{{/* The pod of lagwarden, as the template of a StatefulSet or of a SparkApplication's driver. */}}

{{- define "lagwarden.pod" -}}
metadata:
  labels:
    {{- include "lagwarden.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A changed option is a new pod, but for those that lagwarden reads again.
    checksum/config: {{ printf "%s%s" (include "lagwarden.config.fixed" .) (include "lagwarden.executor.files" .) | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with concat .Values.imagePullSecrets .Values.global.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "lagwarden.serviceAccount" . }}
  # Only mode cluster asks the API server for anything: for executors.
  automountServiceAccountToken: {{ eq .Values.mode "cluster" }}
  # Their variables begin with LAGWARDEN_ too when the Service is named so.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.schedulerName }}
  schedulerName: {{ . }}
  {{- end }}
  {{- with .Values.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- $inPod := include "lagwarden.http.hostAliases" . }}
  {{- if or $inPod .Values.hostAliases }}
  hostAliases:
    {{- with $inPod }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .Values.hostAliases }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: lagwarden
      image: {{ include "lagwarden.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- if eq .Values.mode "operator" }}
      # Spark appends arguments of its own, which are no command of lagwarden; the shell drops them.
      command: [tini, --, sh, -c, exec lagwarden run]
      {{- else }}
      args: [run]
      {{- end }}
      env:
        {{- include "lagwarden.environment" . | nindent 8 }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: 10848
          protocol: TCP
        {{- with (.Values.config.job).spark_ui_port }}
        # Spark's pages have no login and listen on 127.0.0.1: kubectl port-forward reaches them, a Service does not.
        - name: spark-ui
          containerPort: {{ . }}
          protocol: TCP
        {{- end }}
        {{- if eq .Values.mode "cluster" }}
        {{- range include "lagwarden.driver.ports" . | fromYamlArray }}
        - name: {{ .name }}
          containerPort: {{ .port }}
          protocol: {{ .protocol }}
        {{- end }}
        {{- end }}
      # HTTP answers before Kafka does: only a start that hangs altogether ends here, never a long catch-up.
      startupProbe:
        {{- include "lagwarden.http.probe" (dict "root" . "path" "/livez") | nindent 8 }}
        periodSeconds: 3
        timeoutSeconds: 3
        failureThreshold: {{ max 1 (div .Values.probes.startupSeconds 3) }}
      livenessProbe:
        {{- include "lagwarden.http.probe" (dict "root" . "path" "/livez") | nindent 8 }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: {{ max 1 (div .Values.probes.livenessSeconds 10) }}
      readinessProbe:
        {{- include "lagwarden.http.probe" (dict "root" . "path" "/readyz") | nindent 8 }}
        periodSeconds: {{ .Values.probes.readinessPeriodSeconds }}
        timeoutSeconds: 5
        failureThreshold: 2
      resources:
        {{- toYaml (merge (deepCopy (default dict .Values.resources)) (include "lagwarden.disk" . | fromYaml)) | nindent 8 }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- include "lagwarden.mounts" . | nindent 8 }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "lagwarden.volumes" . | nindent 4 }}
    {{- if not .Values.persistence.enabled }}
    - name: checkpoint
      emptyDir:
        sizeLimit: {{ .Values.persistence.size }}
    {{- else if or .Values.persistence.existingClaim (eq .Values.mode "operator") }}
    - name: checkpoint
      persistentVolumeClaim:
        claimName: {{ include "lagwarden.claim.name" . }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
