{{/* How values change the alerts of rules/, which are plain Prometheus rules. */}}

{{/* Base URL of lagwarden's pages: a site's own, else the Ingress, else the Service. */}}
{{- define "lagwarden.pages" -}}
{{- if .Values.rules.pageUrl -}}
{{ trimSuffix "/" .Values.rules.pageUrl }}
{{- else if .Values.ingress.enabled -}}
{{- /* Of a path that is a regular expression, the part that stands for itself. */ -}}
{{- $path := regexFind "^[A-Za-z0-9/_.~-]*" .Values.ingress.path -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}{{ trimSuffix "/" $path }}
{{- else -}}
{{ include "lagwarden.http.scheme" . }}://{{ include "lagwarden.http.host" . }}:{{ .Values.service.port }}
{{- end -}}
{{- end }}

{{/* The alerts that keep their severity with the profile `start`. */}}
{{- define "lagwarden.alerts.start" -}}
LagwardenGroupStuck LagwardenGroupNoMembers LagwardenGroupLosingData LagwardenCommonCause LagwardenMonitorDown LagwardenMonitorStale
{{- end }}

{{/* The severity of an alert: its own in rules.alerts, else that of the profile, else that of the file. */}}
{{- define "lagwarden.alert.severity" -}}
{{- $values := .root.Values.rules -}}
{{- $own := default dict (get $values.alerts .alert.alert) -}}
{{- with coalesce $own.severity (get (default dict $own.labels) "severity") -}}
{{ . }}
{{- else -}}
{{- if and (eq $values.profile "start") (not (has .alert.alert (include "lagwarden.alerts.start" . | splitList " "))) -}}
info
{{- else -}}
{{ dig "labels" "severity" "" .alert }}
{{- end -}}
{{- end -}}
{{- end }}

{{/*
"true" for an alert to install. One that mutes others needs the inhibitions, and the alert that pages instead: if that is
disabled or an info, there would be no page.
*/}}
{{- define "lagwarden.alert.installed" -}}
{{- $values := .root.Values.rules -}}
{{- $pages := dict "LagwardenGroupInCommonCause" "LagwardenCommonCause" "LagwardenGroupInUnhealthyCluster" "LagwardenClusterUnhealthy" -}}
{{- $name := .alert.alert -}}
{{- $wanted := not (has $name $values.disabled) -}}
{{- with get $pages (default "" $name) -}}
{{- $severity := include "lagwarden.alert.severity" (dict "root" $.root "alert" (dict "alert" . "labels" (dict "severity" "critical"))) -}}
{{- $wanted = and $wanted $values.inhibitions (not (has . $values.disabled)) (ne $severity "info") -}}
{{- end -}}
{{ $wanted }}
{{- end }}

{{/* A text of an alert whose commands run where on-call people are: in the pod, by kubectl. */}}
{{- define "lagwarden.alert.text" -}}
{{- $root := .root -}}
{{- $namespace := printf "--namespace %s" $root.Release.Namespace -}}
{{- $pod := printf "%s-0" (include "lagwarden.fullname" $root) -}}
{{- if eq $root.Values.mode "operator" -}}
{{- $labels := printf "app.kubernetes.io/component=monitor,app.kubernetes.io/instance=%s" $root.Release.Name -}}
{{- $pod = printf "$(kubectl %s get pod --selector %s --output name)" $namespace $labels -}}
{{- end -}}
{{- $its := $pod -}}
{{- if and (gt (int $root.Values.shards) 1) $root.Values.serviceMonitor.stableInstance -}}
{{- $its = `{{ reReplaceAll "^.*/" "" $labels.instance }}` -}}
{{- end -}}
{{- $text := .text | replace "lagwarden groups" (printf "kubectl %s exec %s -- lagwarden groups" $namespace $pod) -}}
{{- $text = $text | replace "lagwarden explain GROUP" (printf "kubectl %s exec %s -- lagwarden explain GROUP" $namespace $pod) -}}
{{- $text | replace "lagwarden explain '" (printf "kubectl %s exec %s -- lagwarden explain '" $namespace $its) -}}
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
{{- with include "lagwarden.alert.severity" . -}}
{{- $_ := set $labels "severity" . -}}
{{- end -}}
{{- if $labels -}}
{{- $_ := set $alert "labels" $labels -}}
{{- end -}}
{{- $links := include "lagwarden.alert.links" . | fromYaml -}}
{{- range $name := list "summary" "description" -}}
{{- with get (default dict $alert.annotations) $name -}}
{{- $_ := set $alert.annotations $name (include "lagwarden.alert.text" (dict "root" $.root "text" .)) -}}
{{- end -}}
{{- end -}}
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
