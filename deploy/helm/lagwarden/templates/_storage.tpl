{{/* The claim of the checkpoint, what Kubernetes does not change of it, and the disk of the node. */}}

{{/*
Request and limit of what a container writes to the disk of its node: /tmp, without persistence the checkpoint, and the
log. Kubernetes evicts a pod that is above the limit, and it counts emptyDirs.
*/}}
{{- define "lagwarden.disk" -}}
{{- $limit := add (include "lagwarden.bytes" (toString .Values.tmp.sizeLimit)) 268435456 -}}
{{- if not .Values.persistence.enabled -}}
{{- $limit = add $limit (include "lagwarden.bytes" (toString .Values.persistence.size)) -}}
{{- end -}}
requests:
  ephemeral-storage: 512Mi
limits:
  ephemeral-storage: {{ printf "%dMi" (div $limit 1048576) }}
{{- end }}

{{/* The template of the claim; empty if the chart creates none. */}}
{{- define "lagwarden.claim" -}}
{{- with .Values.persistence -}}
{{- if and .enabled (not .existingClaim) -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: checkpoint
  labels:
    {{- include "lagwarden.selector" $ | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  accessModes: [{{ .accessMode }}]
  {{- with .storageClass }}
  storageClassName: {{ ternary "" . (eq . "-") | quote }}
  {{- end }}
  resources:
    requests:
      storage: {{ .size }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The values that a claim template was made from, as a map of texts; empty without a template. */}}
{{- define "lagwarden.claim.values" -}}
{{- with . -}}
persistence.accessMode: {{ .spec.accessModes | join "," | quote }}
persistence.annotations: {{ .metadata.annotations | default dict | toJson | quote }}
persistence.size: {{ printf "%s bytes" (include "lagwarden.bytes" (toString .spec.resources.requests.storage)) | quote }}
persistence.storageClass: {{ ternary (get .spec "storageClassName" | default "-") "" (hasKey .spec "storageClassName") | quote }}
{{- end -}}
{{- end }}

{{/*
Fields of the StatefulSet that Kubernetes does not change. The error of the API server names no value and no way out.
Where Helm has no cluster to ask (helm template, Argo CD), nothing is compared, and the API server refuses the change.
*/}}
{{- define "lagwarden.upgrade.contradictions" -}}
{{- $name := include "lagwarden.fullname" . -}}
{{- if ne .Values.mode "operator" -}}
{{- with lookup "apps/v1" "StatefulSet" .Release.Namespace $name -}}
{{- $changed := list -}}
{{- if ne (default "OrderedReady" .spec.podManagementPolicy) "Parallel" -}}
{{- $changed = append $changed "podManagementPolicy" -}}
{{- end -}}
{{- $before := dict -}}
{{- range .spec.volumeClaimTemplates -}}
{{- $before = include "lagwarden.claim.values" . | fromYaml -}}
{{- end -}}
{{- $after := include "lagwarden.claim.values" (include "lagwarden.claim" $ | fromYaml) | fromYaml -}}
{{- if ne (len $before) (len $after) -}}
{{- $changed = append $changed (printf "persistence.%s" (ternary "existingClaim" "enabled" (ne $.Values.persistence.existingClaim ""))) -}}
{{- else -}}
{{- range $value, $text := $before -}}
{{- if ne $text (get $after $value) -}}
{{- $changed = append $changed $value -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $changed -}}
{{- fail (printf "%s: Kubernetes does not change this of a StatefulSet. Delete it without its pod, which keeps the checkpoint, and upgrade again: kubectl --namespace %s delete statefulset %s --cascade=orphan" (join ", " $changed) $.Release.Namespace $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
