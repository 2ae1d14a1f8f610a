/** A second PostgreSQL server, which the tests of several cells share in a test run. */
import { startPostgres } from "./GlobalSetup.ts"

export const setup = (): Promise<() => Promise<void>> => startPostgres("SECOND_TEST_DATABASE_URL")
