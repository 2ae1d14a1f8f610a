/** Lets the tests of the contract call a process with three cells. */
import { composeBy } from "../../../adapter-http/testing/Service.ts"
import { compose } from "./ThreeCells.ts"

composeBy(compose)
