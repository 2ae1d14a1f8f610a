// The generators call the API of TypeScript 5, which this example has. npm may install them next to TypeScript 7, which has none.
import { registerHooks } from "node:module"

registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier === "typescript" ? { ...context, parentURL: import.meta.url } : context)
})
