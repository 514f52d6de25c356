// Evaluates the scaling of a ScaledObject of KEDA for responses of an API, as KEDA does (pkg/scalers/
// metrics_api_scaler.go, apis/keda/v1alpha1/scaledobject_webhook.go, pkg/scaling/modifiers/formula.go), by the libraries
// that it uses. Reads one JSON object per line and writes one: the value of the formula, or the error.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/expr-lang/expr"
	"github.com/tidwall/gjson"
)

type question struct {
	Formula string `json:"formula"`
	// The location of the value of each trigger in the response, by the name of the trigger.
	Locations map[string]string `json:"locations"`
	Body      string            `json:"body"`
}

func value(asked question) (float64, error) {
	known, values := map[string]float64{}, map[string]any{}
	for name := range asked.Locations {
		known[name] = -1
	}
	program, err := expr.Compile("float("+asked.Formula+")", expr.Env(known))
	if err != nil {
		return 0, err
	}
	for name, location := range asked.Locations {
		found := gjson.Get(asked.Body, location)
		if found.Type != gjson.Number {
			return 0, fmt.Errorf("%s is of type %s", location, found.Type)
		}
		values[name] = found.Num
	}
	result, err := expr.Run(program, values)
	if err != nil {
		return 0, err
	}
	return result.(float64), nil
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var asked question
		answer := map[string]any{}
		err := json.Unmarshal(lines.Bytes(), &asked)
		if err == nil {
			answer["value"], err = value(asked)
		}
		if err != nil {
			answer = map[string]any{"error": err.Error()}
		}
		text, _ := json.Marshal(answer)
		fmt.Println(string(text))
	}
}
