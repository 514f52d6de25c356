{{/* How values change the alerts of rules/, which are plain Prometheus rules. */}}

{{/* Base URL of lagwarden's pages: a site's own, else the Ingress, else the Service. */}}
{{- define "lagwarden.pages" -}}
{{- if .Values.rules.pageUrl -}}
{{ trimSuffix "/" .Values.rules.pageUrl }}
{{- else if .Values.ingress.enabled -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}{{ trimSuffix "/" .Values.ingress.path }}
{{- else -}}
{{ include "lagwarden.http.scheme" . }}://{{ include "lagwarden.http.host" . }}:{{ .Values.service.port }}
{{- end -}}
{{- end }}

{{/* The links of an alert as URLs, as YAML; the rule files have none. `file`: the name of its rule file. */}}
{{- define "lagwarden.alert.links" -}}
{{- $values := .root.Values.rules -}}
{{- $pages := include "lagwarden.pages" .root -}}
{{- $group := eq (dig "labels" "about" "" .alert) "group" -}}
{{- $dashboard := printf "%s%s" $pages (ternary "/group?name={{ $labels.group | urlquery }}" "/" $group) -}}
{{- if $values.grafanaUrl -}}
{{- $board := ternary "monitor" (ternary "group" "overview" $group) (eq .file "monitor") -}}
{{- $variables := printf "var-job={{ $labels.job | urlquery }}%s" (ternary "&var-group={{ $labels.group | urlquery }}" "" $group) -}}
{{- $cluster := "{{ with $labels.cluster }}&var-cluster={{ . | urlquery }}{{ end }}" -}}
{{- $dashboard = printf "%s/d/lagwarden-%s?%s%s" (trimSuffix "/" $values.grafanaUrl) $board $variables $cluster -}}
{{- end -}}
{{- $runbooks := default (printf "%s/runbook" $pages) $values.runbookUrl | trimSuffix "/" -}}
{{- toYaml (dict "runbook_url" (printf "%s/%s" $runbooks .alert.alert) "dashboard_url" $dashboard) -}}
{{- end }}

{{/* An alert with the links, the labels of all alerts, and the changes of rules.alerts, as YAML. */}}
{{- define "lagwarden.alert" -}}
{{- $alert := deepCopy .alert -}}
{{- $own := default dict (get .root.Values.rules.alerts $alert.alert) -}}
{{- range $field, $value := dict "for" $own.for "keep_firing_for" $own.keepFiringFor -}}
{{- if $value -}}
{{- $_ := set $alert $field $value -}}
{{- end -}}
{{- end -}}
{{- $labels := mergeOverwrite (deepCopy .root.Values.rules.alertLabels) (default dict $alert.labels) (default dict $own.labels) -}}
{{- with $own.severity -}}
{{- $_ := set $labels "severity" . -}}
{{- end -}}
{{- if $labels -}}
{{- $_ := set $alert "labels" $labels -}}
{{- end -}}
{{- $links := include "lagwarden.alert.links" . | fromYaml -}}
{{- $annotations := mergeOverwrite (default dict $alert.annotations) $links (default dict $own.annotations) -}}
{{- if $annotations -}}
{{- $_ := set $alert "annotations" $annotations -}}
{{- end -}}
{{- toYaml $alert -}}
{{- end }}

{{/* Names in values that no alert has, or that do not go together. `known`: all names of alerts. */}}
{{- define "lagwarden.alert.contradictions" -}}
{{- $values := .root.Values.rules -}}
{{- $known := .known -}}
{{- range $where, $names := dict "rules.disabled" $values.disabled "rules.alerts" (keys $values.alerts | sortAlpha) -}}
{{- range $names -}}
{{- if not (has . $known) -}}
{{- fail (printf "%s: there is no alert %q; there are %s" $where . ($known | uniq | join ", ")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $values.disabled -}}
{{- if hasKey $values.alerts . -}}
{{- fail (printf "rules.alerts.%s: has no effect beside rules.disabled" .) -}}
{{- end -}}
{{- end -}}
{{- end }}
