// Package containers tests the container image as its users meet it: started by
// testcontainers-go's own module, by those of Java, Node and Python from their
// packages (folders java, node, python), by the start sequences of further ones,
// from a volume that outlives it, beside other containers. It is a module of its
// own, so that testcontainers-go stays out of every other go.mod.
//
// It needs an engine and the image (make integration sees to both). Begin with
// module_test.go; replays.go has the start sequences.
//
// Not here: what the broker does once it runs (package broker, compat), and the
// binary as a process (the module integration).
package containers
