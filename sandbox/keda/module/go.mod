// The libraries by which KEDA evaluates formulas and reads responses: `sandbox.keda.program`.

module lagwarden.test/keda

go 1.26.0

require (
	github.com/expr-lang/expr v1.17.8
	github.com/tidwall/gjson v1.19.0
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)
