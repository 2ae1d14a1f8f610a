import * as Changes from "@messaging-crm/core/Changes"
import { MemberRows } from "@messaging-crm/core/Members"
import { OrganizationRows, OrganizationStore } from "@messaging-crm/core/Organizations"
import { Layer, Result } from "effect"
import { apply } from "../work/Commit.ts"
import { byAge } from "../world/Order.ts"
import * as Table from "../world/Table.ts"
import { World } from "../world/World.ts"

/** Layer that keeps organizations in the in-memory world. */
export const layer = Layer.effect(
  OrganizationStore,
  World.useSync(({ modify, read }) =>
    OrganizationStore.of({
      insert: (organization, owner, audit) =>
        modify((state) => {
          const changes = Changes.all(OrganizationRows.insert(organization), MemberRows.insert(owner), { audit })
          return [undefined, Result.getOrThrow(apply(state, organization.id, changes, null))]
        }),
      list: read(({ tables }) =>
        Table.allOfEveryOwner(tables, OrganizationRows)
          .map(({ row }) => Table.plain(row))
          .toSorted(byAge)
      ),
      find: (id) => read(({ tables }) => Table.get(tables, OrganizationRows, id, id))
    })
  )
)
