/** The repository of the published packages. Its address is known only in a workflow of GitHub, so no file contains it. */

interface Environment {
  readonly GITHUB_REPOSITORY?: string | undefined
  readonly GITHUB_SERVER_URL?: string | undefined
}

/** Returns the fields of a package's manifest that link to its repository. */
export const linksOf = (folder: string, { GITHUB_REPOSITORY, GITHUB_SERVER_URL }: Environment) => {
  if (!GITHUB_REPOSITORY || !GITHUB_SERVER_URL) return {}
  const url = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`
  return {
    homepage: `${url}/tree/main/packages/${folder}#readme`,
    bugs: { url: `${url}/issues` },
    repository: { type: "git", url: `git+${url}.git`, directory: `packages/${folder}` }
  }
}

/** Returns the flags of `npm publish`: with a statement of provenance where a workflow can sign one. */
export const publishFlags = ({ ACTIONS_ID_TOKEN_REQUEST_URL }: NodeJS.ProcessEnv): ReadonlyArray<string> =>
  ACTIONS_ID_TOKEN_REQUEST_URL === undefined ? [] : ["--provenance"]
