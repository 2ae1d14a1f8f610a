import { encoder } from "@messaging-crm/core/Codecs"
import { MemberId } from "@messaging-crm/core/Ids"
import { AddMember, Member, Members, Role } from "@messaging-crm/core/Members"
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Admin from "../cli/Admin.ts"
import * as Flags from "../cli/Flags.ts"
import * as Print from "../cli/Print.ts"

const toJson = encoder(Member)

const role = Flag.Literals("role", Role.literals).pipe(Flag.withDescription("Role of the member"))

const member = Flags.id("member", MemberId, "ID of the member")

const rejections = {
  MemberNotFound: Admin.reject(
    "No member of this organization has this ID. Find the ID with: messaging-crm members list."
  ),
  LastOwner: Admin.reject("An organization must have an owner. Give another member the role owner first.")
}

const add = Command.make(
  "add",
  {
    organization: Admin.organization,
    name: Flag.String("name").pipe(Flag.withDescription("Name of the member")),
    email: Flag.String("email").pipe(Flag.withDescription("Email address of the member")),
    role,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, organization, ...flags }) {
    const input = yield* Admin.typed(AddMember, flags)
    const added = yield* Admin.asOperator(organization, Members.use((members) => members.add(input))).pipe(
      Effect.catchTag(
        "MemberEmailTaken",
        ({ email }) =>
          new Admin.Rejected({ message: `${email} is already a member of the organization. Choose another --email.` })
      )
    )
    yield* Print.result(json, toJson(added), `Member ${added.id} (${added.email}, ${added.role}).`)
  })
).pipe(
  Command.withDescription("Add a member"),
  Command.withExamples([
    {
      command:
        "messaging-crm members add --organization $ORGANIZATION_ID --name Grace --email grace@acme.example --role admin"
    },
    {
      command:
        "messaging-crm members add --organization $ORGANIZATION_ID --name Alan --email alan@acme.example --role member --json"
    }
  ])
)

const list = Admin.list("List the members", "members", Members.use((members) => members.list), toJson)

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
      Effect.catchTags(rejections)
    )
    yield* Print.result(json, toJson(changed), `Member ${changed.id} now has the role ${changed.role}.`)
  })
).pipe(
  Command.withDescription("Change a member's role; revokes the keys of a member who is no longer owner or admin"),
  Command.withExamples([
    { command: "messaging-crm members set-role --organization $ORGANIZATION_ID --member $MEMBER_ID --role owner" },
    {
      command: "messaging-crm members set-role --organization $ORGANIZATION_ID --member $MEMBER_ID --role member --json"
    }
  ])
)

const remove = Command.make(
  "remove",
  {
    organization: Admin.organization,
    member,
    json: Print.json
  },
  Effect.fnUntraced(function*({ json, member, organization }) {
    yield* Admin.asOperator(organization, Members.use((members) => members.remove(member))).pipe(
      Effect.catchTags(rejections)
    )
    yield* Print.result(json, { id: member }, `Member ${member} is removed.`)
  })
).pipe(
  Command.withDescription("Remove a member and revoke the member's keys"),
  Command.withExamples([
    { command: "messaging-crm members remove --organization $ORGANIZATION_ID --member $MEMBER_ID" },
    { command: "messaging-crm members remove --organization $ORGANIZATION_ID --member $MEMBER_ID --json" }
  ])
)

export const members = Command.make("members").pipe(
  Command.withDescription("Manage the members of an organization"),
  Command.withSubcommands([add, list, setRole, remove])
)
