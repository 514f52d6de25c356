{{/* Mode cluster: the driver is the pod of the StatefulSet, and Spark starts executors as pods (client mode). */}}

{{- define "lagwarden.executor.selector" -}}
app.kubernetes.io/name: {{ include "lagwarden.name" . }}-executor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lagwarden.executor.labels" -}}
{{ include "lagwarden.executor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: executor
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The headless Service by which executors reach the driver. */}}
{{- define "lagwarden.driver" -}}
{{ include "lagwarden.fullname" . }}-driver
{{- end }}

{{/* The ports on which the driver listens for executors. The progress of tasks comes by datagrams. */}}
{{- define "lagwarden.driver.ports" -}}
- name: driver
  port: 7078
  protocol: TCP
- name: blocks
  port: 7079
  protocol: TCP
- name: progress
  port: 7078
  protocol: UDP
{{- end }}

{{/* Driver and executors, as peers of a NetworkPolicy. */}}
{{- define "lagwarden.cluster.peers" -}}
- podSelector:
    matchLabels:
      {{- include "lagwarden.selector" . | nindent 6 }}
- podSelector:
    matchLabels:
      {{- include "lagwarden.executor.selector" . | nindent 6 }}
{{- end }}

{{/* The options of the section job that the mode sets. */}}
{{- define "lagwarden.cluster.job" -}}
master: k8s://https://kubernetes.default.svc
namespace: {{ .Release.Namespace }}
driver_host: {{ include "lagwarden.driver" . }}.{{ .Release.Namespace }}.svc
driver_bind_address: 0.0.0.0
{{- range include "lagwarden.driver.ports" . | fromYamlArray }}
{{- if eq .name "driver" }}
driver_port: {{ .port }}
{{- else if eq .name "blocks" }}
block_manager_port: {{ .port }}
{{- end }}
{{- end }}
executor_image: {{ include "lagwarden.image" . }}
executor_service_account: {{ include "lagwarden.serviceAccount" . }}
pod_template: /etc/lagwarden/executor.yaml
spark_options:
  spark.executor.memoryOverhead: {{ .Values.executor.memoryOverhead | quote }}
  spark.kubernetes.container.image.pullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* The claim of the checkpoint: that of the StatefulSet's pod, or with mode operator one of its own. */}}
{{- define "lagwarden.claim.name" -}}
{{- $name := include "lagwarden.fullname" . -}}
{{- default (ternary (printf "%s-checkpoint" $name) (printf "checkpoint-%s-0" $name) (eq .Values.mode "operator")) .Values.persistence.existingClaim -}}
{{- end }}

{{/*
The pod template of executors. Spark adds name, image, resources, variables, its own labels and the argument `executor`,
which is a command of the image. Volumes are those of the driver under the same paths, without the files of the HTTP
server and of the export by OTLP.
*/}}
{{- define "lagwarden.executor.pod" -}}
{{- $private := list "http" "otlp" -}}
{{- $volumes := list (dict "name" "checkpoint" "persistentVolumeClaim" (dict "claimName" (include "lagwarden.claim.name" .))) -}}
{{- range include "lagwarden.volumes" . | fromYamlArray }}{{ if not (has .name $private) }}{{ $volumes = append $volumes . }}{{ end }}{{ end -}}
{{- $mounts := list -}}
{{- range include "lagwarden.mounts" . | fromYamlArray }}{{ if not (has .name $private) }}{{ $mounts = append $mounts . }}{{ end }}{{ end -}}
apiVersion: v1
kind: Pod
metadata:
  labels:
    {{- include "lagwarden.executor.labels" . | nindent 4 }}
    {{- with .Values.executor.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.executor.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with concat .Values.imagePullSecrets .Values.global.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- range $name, $value := dict "securityContext" .Values.podSecurityContext "hostAliases" .Values.hostAliases "dnsConfig" .Values.dnsConfig "runtimeClassName" .Values.runtimeClassName }}
  {{- if $value }}
  {{- toYaml (dict $name $value) | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- range $name := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" }}
  {{- with get $.Values.executor $name }}
  {{- toYaml (dict $name .) | nindent 2 }}
  {{- end }}
  {{- end }}
  containers:
    - name: executor
      resources:
        {{- include "lagwarden.disk" . | nindent 8 }}
      {{- with .Values.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        {{- toYaml (concat $mounts .Values.extraVolumeMounts) | nindent 8 }}
  volumes:
    {{- toYaml (concat $volumes .Values.extraVolumes) | nindent 4 }}
{{- end }}

{{/* The files of executors in the ConfigMap; empty with the other modes. */}}
{{- define "lagwarden.executor.files" -}}
{{- if eq .Values.mode "cluster" -}}
executor.yaml: |
  {{- include "lagwarden.executor.pod" . | nindent 2 }}
{{- end -}}
{{- end }}

{{- define "lagwarden.cluster.contradictions" -}}
{{- $job := default dict .Values.config.job -}}
{{- $master := default "" $job.master | toString -}}
{{- if eq .Values.mode "cluster" -}}
{{- if gt (int .Values.shards) 1 -}}
{{- fail "shards: is 1 with mode cluster; executors share the work of one driver" -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- fail "persistence.enabled: is needed with mode cluster: driver and executors share the checkpoint" -}}
{{- end -}}
{{- if and (not .Values.persistence.existingClaim) (ne .Values.persistence.accessMode "ReadWriteMany") -}}
{{- fail (printf "persistence.accessMode: %s is one node's alone; with mode cluster set ReadWriteMany, or existingClaim to a claim that all nodes mount" .Values.persistence.accessMode) -}}
{{- end -}}
{{- if not (has $master (list "" "local[2]")) -}}
{{- fail "config.job.master: is set by mode cluster; leave it out" -}}
{{- end -}}
{{- range $name, $_ := index (include "lagwarden.cluster.job" . | fromYaml) "spark_options" -}}
{{- if hasKey (default dict $job.spark_options) $name -}}
{{- fail (printf "config.job.spark_options: %s is set by the chart; use executor.memoryOverhead or image.pullPolicy" $name) -}}
{{- end -}}
{{- end -}}
{{- $labels := include "lagwarden.executor.labels" . | fromYaml -}}
{{- range $name, $_ := .Values.executor.podLabels -}}
{{- if hasKey $labels $name -}}
{{- fail (printf "executor.podLabels: the label %s is taken; choose another one" $name) -}}
{{- end -}}
{{- end -}}
{{- else -}}
{{- if and $master (not (regexMatch "^local(\\[|$)" $master)) -}}
{{- fail (printf "config.job.master: %s needs executors; with mode %s it takes local[N], and mode cluster starts executors" $master .Values.mode) -}}
{{- end -}}
{{- range $name := list "executors" "executor_cores" "executor_memory" -}}
{{- if hasKey $job $name -}}
{{- fail (printf "config.job.%s: has no effect with mode %s" $name $.Values.mode) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
