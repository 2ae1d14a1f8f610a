import * as Storage from "@messaging-crm/conformance/Storage"
import { options, storage } from "./Scene.ts"

Storage.journeySuites.expectations("memory", storage, options)
