import { MemberId } from "@messaging-crm/core/Ids"
import { AddMember, Member, Members, Role } from "@messaging-crm/core/Members"
import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../Admin.ts"
import * as Print from "../Print.ts"

const toJson = Schema.encodeSync(Member)

const role = Flag.Literals("role", Role.literals).pipe(Flag.withDescription("owner, admin or member"))

const member = Flag.String("member").pipe(Flag.withSchema(MemberId), Flag.withDescription("The id of the member"))

const refusals = {
  MemberNotFound: Admin.refuse("The organization has no such member."),
  LastOwner: Admin.refuse("The organization would have no owner. Make another member owner first: members set-role.")
}

const add = Command.make(
  "add",
  {
    organization: Admin.organization,
    name: Flag.String("name").pipe(Flag.withDescription("The member's name")),
    email: Flag.String("email").pipe(Flag.withDescription("The member's email address")),
    role,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, ...flags }) {
    const input = yield* Admin.typed(AddMember, flags)
    const added = yield* Admin.asOperator(organization, Members.use((members) => members.add(input))).pipe(
      Effect.catchTag("MemberEmailTaken", ({ email }) => Admin.refuse(`${email} is a member already.`)())
    )
    yield* Print.result(json, toJson(added), `Member ${added.id} (${added.email}, ${added.role}).`)
  })
).pipe(Command.withDescription("Add a member"))

const list = Admin.list("List the members", Members.use((members) => members.list), toJson)

const setRole = Command.make(
  "set-role",
  {
    organization: Admin.organization,
    member,
    role,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, member, organization, role }) {
    const changed = yield* Admin.asOperator(organization, Members.use((members) => members.setRole(member, role))).pipe(
      Effect.catchTags(refusals)
    )
    yield* Print.result(json, toJson(changed), `Member ${changed.id} is ${changed.role} now.`)
  })
).pipe(Command.withDescription("Change a member's role; keys of a member who is no longer owner or admin are revoked"))

const remove = Command.make(
  "remove",
  {
    organization: Admin.organization,
    member,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, member, organization }) {
    yield* Admin.asOperator(organization, Members.use((members) => members.remove(member))).pipe(
      Effect.catchTags(refusals)
    )
    yield* Print.result(json, { id: member }, `Member ${member} has left.`)
  })
).pipe(Command.withDescription("Remove a member; their keys are revoked"))

export const members = Command.make("members").pipe(
  Command.withDescription("Members of an organization"),
  Command.withSubcommands([add, list, setRole, remove])
)
