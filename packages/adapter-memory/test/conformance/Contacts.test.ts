import * as Storage from "@messaging-crm/conformance/Storage"
import { options, storage } from "./Scene.ts"

Storage.journeySuites.contacts("memory", storage, options)
