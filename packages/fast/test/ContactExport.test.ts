/** An export contains values that a newer version has added, if no part of it is checked. */
import { assert, it } from "@effect/vitest"
import { ContactExport } from "@messaging-crm/core/PersonalData"
import { Schema } from "effect"
import { isDerived } from "../src/Codecs.ts"

it("every part of a contact's export has a derived codec", () => assert.isTrue(isDerived(Schema.flip(ContactExport))))
