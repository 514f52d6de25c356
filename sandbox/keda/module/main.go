// Evaluates ScaledObjects by KEDA's own scale handler: it builds the scalers of the triggers, lets them ask the services
// whose addresses the ScaledObject has, applies the formula, and returns what KEDA's metrics server answers to the
// HorizontalPodAutoscaler. Reads one ScaledObject (JSON) per line and writes one object: the value, or the errors.
//
// The API server is the fake of controller-runtime, with the ScaledObject and its Deployment.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
	"github.com/kedacore/keda/v2/pkg/scaling"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace = "default"
	timeout   = 10 * time.Second
)

// errorLog is a sink that keeps the errors which KEDA logs: the autoscaler gets none of their texts.
type errorLog struct {
	lock   sync.Mutex
	errors []string
}

func (*errorLog) Init(logr.RuntimeInfo)              {}
func (*errorLog) Enabled(int) bool                   { return false }
func (*errorLog) Info(int, string, ...any)           {}
func (log *errorLog) WithValues(...any) logr.LogSink { return log }
func (log *errorLog) WithName(string) logr.LogSink   { return log }
func (log *errorLog) Error(err error, _ string, _ ...any) {
	log.lock.Lock()
	defer log.lock.Unlock()
	if err != nil {
		log.errors = append(log.errors, err.Error())
	}
}

func (log *errorLog) drain() []string {
	log.lock.Lock()
	defer log.lock.Unlock()
	found := log.errors
	log.errors = nil
	return found
}

// value returns what the HorizontalPodAutoscaler gets as the value of the only metric.
func value(ctx context.Context, text []byte) (float64, error) {
	scaled := &kedav1alpha1.ScaledObject{}
	if err := json.Unmarshal(text, scaled); err != nil {
		return 0, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(kedav1alpha1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		return 0, err
	}
	scaled.Namespace = namespace
	scaled.Status.ScaleTargetGVKR = &kedav1alpha1.GroupVersionKindResource{
		Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments",
	}
	target := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: scaled.Spec.ScaleTargetRef.Name}}
	client := fake.NewClientBuilder().WithScheme(scheme).WithObjects(scaled, target).Build()
	handler := scaling.NewScaleHandler(
		client, nil, scheme, timeout, timeout, &events.FakeRecorder{}, &authentication.AuthClientSet{},
	)

	cache, err := handler.GetScalersCache(ctx, scaled)
	if err != nil {
		return 0, err
	}
	// As controllers/keda/hpa.go does, for the object that the handler now has.
	for _, spec := range cache.GetMetricSpecForScaling(ctx) {
		scaled.Status.ExternalMetricNames = append(scaled.Status.ExternalMetricNames, spec.External.Metric.Name)
	}
	if len(scaled.Status.ExternalMetricNames) == 0 {
		return 0, errors.New("no metrics")
	}
	name := scaled.Status.ExternalMetricNames[0]
	if scaled.IsUsingModifiers() {
		name = kedav1alpha1.CompositeMetricName
	}
	found, err := handler.GetScaledObjectMetrics(ctx, scaled.Name, namespace, name)
	if err != nil {
		return 0, err
	}
	if len(found.Items) != 1 || found.Items[0].MetricName != name {
		return 0, fmt.Errorf("not the value of %s: %v", name, found.Items)
	}
	return found.Items[0].Value.AsApproximateFloat64(), nil
}

func main() {
	log := &errorLog{}
	logf.SetLogger(logr.New(log))
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		answer := map[string]any{}
		found, err := value(context.Background(), lines.Bytes())
		reasons := log.drain()
		if err != nil {
			answer["errors"] = append([]string{err.Error()}, reasons...)
		} else {
			answer["value"] = found
		}
		text, err := json.Marshal(answer)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(text))
	}
}
