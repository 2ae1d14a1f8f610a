// The generators call the API of TypeScript 5, which this example has. npm may install them next to TypeScript 7, which has none.
import { registerHooks } from "node:module"

const url = import.meta.resolve("typescript")

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "typescript" ? { url, shortCircuit: true } : next(specifier, context)
})
