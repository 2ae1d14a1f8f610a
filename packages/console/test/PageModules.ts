/** The modules of the page. They have a separate type check, so an import by name has no types here. */

/** Imports a module of the page. */
export const importPage = (name: string) => import(new URL(`../page/${name}.mjs`, import.meta.url).href)
