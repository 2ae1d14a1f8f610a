import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import {
  type ColumnMap,
  fieldNamed,
  mapColumns,
  readCells,
  readMap,
  yearlessBirthday
} from "../../src/cli/ImportColumns.ts"

const map = (columns: string | ReadonlyArray<string>, maps: ReadonlyArray<ColumnMap> = []) =>
  mapColumns({ line: 1, cells: typeof columns === "string" ? columns.split(",") : columns }, maps)

/** Returns the fields that a line sets. */
const read = Effect.fnUntraced(
  function*(
    columns: string | ReadonlyArray<string>,
    cells: ReadonlyArray<string>,
    maps: ReadonlyArray<ColumnMap> = []
  ) {
    const mapping = yield* map(columns, maps)
    const values = yield* Effect.fromResult(readCells(mapping, cells))
    return Object.fromEntries(
      mapping.fields.map(({ field }, index) => [field, values[index]] as const).filter(([, value]) => value !== "")
    )
  }
)

/** Returns the fields of a line that is given by its columns' names. */
const readNamed = (columns: string, line: Readonly<Record<string, string>>) => {
  const names = columns.split(",")
  assert.includeMembers(names, Object.keys(line))
  return read(names, names.map((name) => line[name] ?? ""))
}

const google_older =
  "Name,Given Name,Additional Name,Family Name,Yomi Name,Given Name Yomi,Additional Name Yomi,Family Name Yomi,Name Prefix,Name Suffix,Initials,Nickname,Short Name,Maiden Name,Birthday,Gender,Location,Billing Information,Directory Server,Mileage,Occupation,Hobby,Sensitivity,Priority,Subject,Notes,Language,Photo,Group Membership,E-mail 1 - Type,E-mail 1 - Value,E-mail 2 - Type,E-mail 2 - Value,IM 1 - Type,IM 1 - Service,IM 1 - Value,Phone 1 - Type,Phone 1 - Value,Phone 2 - Type,Phone 2 - Value,Address 1 - Type,Address 1 - Formatted,Address 1 - Street,Address 1 - City,Address 1 - PO Box,Address 1 - Region,Address 1 - Postal Code,Address 1 - Country,Address 1 - Extended Address,Organization 1 - Type,Organization 1 - Name,Organization 1 - Yomi Name,Organization 1 - Title,Organization 1 - Department,Organization 1 - Symbol,Organization 1 - Location,Organization 1 - Job Description,Website 1 - Type,Website 1 - Value,Custom Field 1 - Type,Custom Field 1 - Value"

const google_current =
  "First Name,Middle Name,Last Name,Phonetic First Name,Phonetic Middle Name,Phonetic Last Name,Name Prefix,Name Suffix,Nickname,File As,Organization Name,Organization Title,Organization Department,Birthday,Notes,Photo,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value,Address 1 - Label,Address 1 - Formatted,Address 1 - Street,Address 1 - City,Address 1 - PO Box,Address 1 - Region,Address 1 - Postal Code,Address 1 - Country,Address 1 - Extended Address,Relation 1 - Label,Relation 1 - Value,Website 1 - Label,Website 1 - Value,Event 1 - Label,Event 1 - Value,Custom Field 1 - Label,Custom Field 1 - Value"

const outlook_web =
  "First Name,Middle Name,Last Name,Title,Suffix,Nickname,Given Yomi,Surname Yomi,E-mail Address,E-mail 2 Address,E-mail 3 Address,Home Phone,Home Phone 2,Business Phone,Business Phone 2,Mobile Phone,Car Phone,Other Phone,Primary Phone,Pager,Business Fax,Home Fax,Other Fax,Company Main Phone,Callback,Radio Phone,Telex,TTY/TDD Phone,IMAddress,Job Title,Department,Company,Office Location,Manager's Name,Assistant's Name,Assistant's Phone,Company Yomi,Business Street,Business City,Business State,Business Postal Code,Business Country/Region,Home Street,Home City,Home State,Home Postal Code,Home Country/Region,Other Street,Other City,Other State,Other Postal Code,Other Country/Region,Personal Web Page,Spouse,Schools,Hobby,Location,Web Page,Birthday,Anniversary,Notes"

const outlook_desktop =
  "Title,First Name,Middle Name,Last Name,Suffix,Company,Department,Job Title,Business Street,Business Street 2,Business Street 3,Business City,Business State,Business Postal Code,Business Country/Region,Home Street,Home Street 2,Home Street 3,Home City,Home State,Home Postal Code,Home Country/Region,Other Street,Other Street 2,Other Street 3,Other City,Other State,Other Postal Code,Other Country/Region,Assistant's Phone,Business Fax,Business Phone,Business Phone 2,Callback,Car Phone,Company Main Phone,Home Fax,Home Phone,Home Phone 2,ISDN,Mobile Phone,Other Fax,Other Phone,Pager,Primary Phone,Radio Phone,TTY/TDD Phone,Telex,Account,Anniversary,Assistant's Name,Billing Information,Birthday,Business Address PO Box,Categories,Children,Directory Server,E-mail Address,E-mail Type,E-mail Display Name,E-mail 2 Address,E-mail 2 Type,E-mail 2 Display Name,E-mail 3 Address,E-mail 3 Type,E-mail 3 Display Name,Gender,Government ID Number,Hobby,Home Address PO Box,Initials,Internet Free Busy,Keywords,Language,Location,Manager's Name,Mileage,Notes,Office Location,Organizational ID Number,Other Address PO Box,Priority,Private,Profession,Referred By,Sensitivity,Spouse,User 1,User 2,User 3,User 4,Web Page"

const outlook_by_google =
  "First Name,Middle Name,Last Name,Title,Suffix,Initials,Web Page,Gender,Birthday,Anniversary,Location,Language,Internet Free Busy,Notes,E-mail Address,E-mail 2 Address,E-mail 3 Address,Primary Phone,Home Phone,Home Phone 2,Mobile Phone,Pager,Home Fax,Home Address,Home Street,Home Street 2,Home Street 3,Home Address PO Box,Home City,Home State,Home Postal Code,Home Country,Spouse,Children,Manager's Name,Assistant's Name,Referred By,Company Main Phone,Business Phone,Business Phone 2,Business Fax,Assistant's Phone,Company,Job Title,Department,Office Location,Organizational ID Number,Profession,Account,Business Address,Business Street,Business Street 2,Business Street 3,Business Address PO Box,Business City,Business State,Business Postal Code,Business Country,Other Phone,Other Fax,Other Address,Other Street,Other Street 2,Other Street 3,Other Address PO Box,Other City,Other State,Other Postal Code,Other Country,Callback,Car Phone,ISDN,Radio Phone,TTY/TDD Phone,Telex,User 1,User 2,User 3,User 4,Keywords,Mileage,Hobby,Billing Information,Directory Server,Sensitivity,Priority,Private,Categories"

const hubspot =
  "Record ID,First Name,Last Name,Email,Phone Number,Contact owner,Lead Status,Marketing contact status,Create Date,Lifecycle Stage,Company Name,Job Title,City,State/Region,Country/Region,Website URL,Associated Company,Associated Company IDs"

const salesforce_report =
  "Salutation,First Name,Last Name,Title,Account Name,Mailing Street,Mailing City,Mailing State/Province,Mailing Zip/Postal Code,Mailing Country,Phone,Fax,Mobile,Email,Account Owner"

const salesforce_data =
  "Id,IsDeleted,MasterRecordId,AccountId,LastName,FirstName,Salutation,Name,OtherStreet,OtherCity,OtherState,OtherPostalCode,OtherCountry,MailingStreet,MailingCity,MailingState,MailingPostalCode,MailingCountry,Phone,Fax,MobilePhone,HomePhone,OtherPhone,AssistantPhone,ReportsToId,Email,Title,Department,AssistantName,LeadSource,Birthdate,Description,OwnerId,CreatedDate,CreatedById,LastModifiedDate,LastModifiedById,SystemModstamp,LastActivityDate,LastCURequestDate,LastCUUpdateDate,EmailBouncedReason,EmailBouncedDate"

const zammad =
  "id,login,firstname,lastname,email,web,phone,fax,mobile,department,street,zip,city,country,address,vip,verified,active,note,last_login,out_of_office,out_of_office_start_at,out_of_office_end_at,organization,roles,created_at,updated_at"

const chatwoot =
  "id,name,email,identifier,phone_number,labels,ip_address,company_name,custom_attribute_1,custom_attribute_2"

describe("the columns of an export", () => {
  it.effect.each<readonly [string, string]>([
    ["Google Contacts", google_older],
    ["Google Contacts", google_current],
    ["Outlook", outlook_web],
    ["Outlook", outlook_desktop],
    ["Outlook", outlook_by_google],
    ["HubSpot", hubspot],
    ["HubSpot", "Record ID - Contact,First Name,Last Name,Email,Phone number,Contact owner,Company name"],
    ["HubSpot", "Record ID,Email,Create Date (CET),Last Activity Date (GMT+2),Last Contacted (UTC)"],
    ["Salesforce", salesforce_report],
    ["Salesforce", salesforce_data],
    ["Zammad", zammad],
    ["Chatwoot", chatwoot],
    ["Chatwoot", "id,name,email,phone_number"]
  ])("of %s are all known", ([format, columns]) =>
    Effect.gen(function*() {
      const mapping = yield* map(columns)
      assert.strictEqual(mapping.format, format)
      // Every other spelling of the names means the same.
      for (const other of [columns.toUpperCase(), columns.replaceAll(" ", "  "), columns.replaceAll(/[ -]/g, "_")]) {
        const { fields, format: also } = yield* map(other)
        assert.strictEqual(also, format)
        assert.deepStrictEqual(fields.map(({ field }) => field), mapping.fields.map(({ field }) => field))
      }
    }))

  it.effect("of Google Contacts are read, of which the first non-empty wins", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* readNamed(google_current, {
          "First Name": "Ann",
          "Middle Name": "B.",
          "Last Name": "Li",
          "Organization Name": "Acme",
          "Organization Title": "CEO",
          "Birthday": "1990-03-14",
          "Notes": "a ::: b",
          "Labels": "Friends ::: * myContacts",
          "E-mail 1 - Label": "* Work",
          "E-mail 2 - Value": "ann@acme.example ::: ann@home.example",
          "Phone 1 - Value": " ::: +4915112340001 ::: +4915112340002",
          "Phone 2 - Value": "+4915112340003",
          "Address 1 - Street": "Lane 1",
          "Website 1 - Value": "www.acme.example/a"
        }),
        {
          first_name: "Ann",
          last_name: "Li",
          company: "Acme",
          job_title: "CEO",
          birthday: "1990-03-14",
          notes: "a ::: b",
          primary_email: "ann@acme.example",
          primary_phone: "+4915112340001",
          street_address: "Lane 1",
          website_url: "https://www.acme.example/a"
        }
      )
      assert.deepStrictEqual(
        yield* readNamed(google_older, {
          "Name": "Ann Li",
          "Given Name": "Ann",
          "Family Name": "Li",
          "Phone 2 - Value": "+4915112340003",
          "Organization 1 - Name": "Acme ::: Other"
        }),
        { first_name: "Ann", last_name: "Li", primary_phone: "+4915112340003", company: "Acme" }
      )
      assert.deepStrictEqual(yield* readNamed(google_older, { "Name": "Acme Inc" }), { first_name: "Acme Inc" })
      assert.deepStrictEqual(yield* readNamed(google_older, { "Name": "Li", "Family Name": "Li" }), { last_name: "Li" })
      assert.deepStrictEqual(
        yield* read("Name,Phone 10 - Value,Phone 9 - Value", ["Ann", "+4915112340010", "+4915112340009"]),
        { first_name: "Ann", primary_phone: "+4915112340009" }
      )
    }))

  it.effect("of the other programs are read", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* readNamed(outlook_web, {
          "Title": "Mr.",
          "First Name": "Bob",
          "Business Phone": "+493012345678",
          "Mobile Phone": "'+4915112340001",
          "E-mail 2 Address": "bob@acme.example",
          "Birthday": "0/0/00",
          "Home City": "Berlin"
        }),
        { first_name: "Bob", primary_phone: "+4915112340001", primary_email: "bob@acme.example", city: "Berlin" }
      )
      assert.deepStrictEqual(
        yield* readNamed(hubspot, {
          "Record ID": "901",
          "First Name": "Ann",
          "Contact owner": "Ada",
          "Lead Status": "IN_PROGRESS",
          "Lifecycle Stage": "Marketing Qualified Lead",
          "Website URL": "acme.example",
          "Associated Company": "Acme"
        }),
        {
          first_name: "Ann",
          lead_status: "in_progress",
          lifecycle_stage: "marketing_qualified",
          website_url: "https://acme.example",
          company: "Acme"
        }
      )
      assert.deepStrictEqual(
        yield* readNamed(salesforce_report, { "Last Name": "Li", "Title": "CEO", "Phone": "+1", "Mobile": "+2" }),
        { last_name: "Li", job_title: "CEO", primary_phone: "+2" }
      )
      assert.deepStrictEqual(
        yield* readNamed(zammad, { firstname: "Ann", web: "https://a.example", organization: "Acme", vip: "true" }),
        { first_name: "Ann", website_url: "https://a.example", company: "Acme" }
      )
      assert.deepStrictEqual(
        yield* readNamed(chatwoot, { id: "1", name: "Ann Li", phone_number: "+4915112340001" }),
        { first_name: "Ann Li", primary_phone: "+4915112340001" }
      )
    }))
})

describe("the columns of a list", () => {
  it.effect("can be named in any case and spacing, and can be written against formulas", () =>
    Effect.gen(function*() {
      for (
        const name of [
          "first_name",
          "First Name",
          "FIRST  NAME",
          "firstname",
          " first-name ",
          "=\"First Name\"",
          "FirstName"
        ]
      ) {
        assert.deepStrictEqual(yield* read([name], ["Ann"]), { first_name: "Ann" })
      }
      assert.deepStrictEqual(
        yield* read("First Name,Phone,E-mail 1 - Value", ["Ann", "+4915112340001", "a@b.example"]),
        { first_name: "Ann", primary_phone: "+4915112340001", primary_email: "a@b.example" }
      )
      assert.deepStrictEqual(
        yield* read(["", "name", "Phone", "Phone.1", "Unnamed: 0"], ["7", "Ann", "", "+4915112340001", "7"]),
        { first_name: "Ann", primary_phone: "+4915112340001" }
      )
    }))

  it.effect("can be followed by empty columns, and a line can be shorter or longer", () =>
    Effect.gen(function*() {
      const columns = ["first_name", "last_name", "", ""]
      assert.deepStrictEqual(yield* read(columns, ["Ann"]), { first_name: "Ann" })
      assert.deepStrictEqual(yield* read(columns, ["Ann", "Li", "", "", "", " "]), {
        first_name: "Ann",
        last_name: "Li"
      })
      for (const cells of [["Ann", "Li", "", "x"], ["Ann", "Li", "", "", "", "x"]]) {
        const refused = readCells(yield* map(columns), cells)
        assert.strictEqual(Result.isFailure(refused) ? refused.failure.position : null, cells.length)
      }
    }))

  it.effect("are rejected together if they are not known, and as a title if none is", () =>
    Effect.gen(function*() {
      const some = yield* Effect.flip(map("first_name,Shoe,Title,Photo"))
      assert.deepInclude(some, { _tag: "ColumnsUnknown", columns: ["Shoe", "Title", "Photo"], is_header: true })
      const zones = yield* Effect.flip(map("Record ID,Email,Email (CET),Create Date (first),Shoe (CET)"))
      assert.deepInclude(zones, { columns: ["Email (CET)", "Create Date (first)", "Shoe (CET)"] })
      const title = yield* Effect.flip(map("My contacts,,"))
      assert.deepInclude(title, { _tag: "ColumnsUnknown", columns: ["My contacts"], is_header: false, line: 1 })
      assert.deepInclude(yield* Effect.flip(map("Ann,+4915112340001")), { is_header: false })
    }))

  it.effect("are rejected if several with one name set a field, but can repeat if they are ignored", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* Effect.flip(map("First Name,first_name,Phone")), {
        _tag: "ColumnsDuplicated",
        columns: ["first_name"]
      })
      const { fields } = yield* map("Record ID,Email,Associated Deal,Associated Deal,import_error,import_error")
      assert.deepStrictEqual(fields.map(({ field }) => field), ["primary_email"])
    }))

  it.effect("have the fields that the user has chosen", () =>
    Effect.gen(function*() {
      const maps = yield* Effect.forEach(
        ["Handy=primary_phone", "a = b=notes", "Shoe=", "PHONE 2 - Value=primary_phone", "Labels=tags"],
        (text) => Effect.fromResult(readMap(text))
      )
      const columns = ["Given Name", "Phone 1 - Value", "phone 2 - value", "Handy", "Shoe", "a = b", "Labels"]
      const cells = ["Ann", "+1", "+2 ::: +3", "", "42", "x", "* myContacts ::: VIP ::: Friends"]
      assert.deepStrictEqual(yield* read(columns, cells, maps), {
        first_name: "Ann",
        primary_phone: "+2",
        notes: "x",
        tags: "VIP;Friends"
      })
      const mapping = yield* map(columns, maps)
      assert.deepStrictEqual(mapping.ignored, ["Shoe"])
      assert.strictEqual(fieldNamed(mapping, "handy"), "primary_phone")
      assert.strictEqual(fieldNamed(mapping, "Shoe"), "Shoe")
      const absent = yield* Effect.flip(map("first_name", [{ column: "Handy", field: "notes" }]))
      assert.deepInclude(absent, { _tag: "MapInvalid" })
      for (const text of ["Handy", "=notes", "Handy=shoe_size", "Handy=custom_values."]) {
        assert.isTrue(Result.isFailure(readMap(text)), text)
      }
    }))

  it.effect("with keys of custom fields are exact", () =>
    Effect.gen(function*() {
      const { fields } = yield* map("first_name,custom_values.a_b,custom_values.ab")
      assert.deepStrictEqual(fields.map(({ field }) => field), ["first_name", "custom_values.a_b", "custom_values.ab"])
    }))
})

describe("a cell", () => {
  it.effect.each<readonly [string, string]>([
    ["'+4915112340001", "+4915112340001"],
    ["=+4915112340001", "+4915112340001"],
    ["=\"+4915112340001\"", "+4915112340001"],
    ["=\"\"+4915112340001\"\"", "+4915112340001"],
    ["\t+4915112340001", "+4915112340001"],
    ["'00 49 151", "00 49 151"]
  ])("%j is the phone %j", ([cell, value]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read("primary_phone", [cell]), { primary_phone: value })
    }))

  it.effect.each<readonly [string, string]>([
    ["'s-Gravenhage", "'s-Gravenhage"],
    ["'47 Brand", "'47 Brand"],
    ["=1+1", "=1+1"],
    ["=\"a \"\"b\"\"\"", "a \"b\""],
    ["'=cmd", "=cmd"],
    ["'\tcmd", "cmd"],
    ["\"", "\""],
    ["=", "="]
  ])("%j is the name %j", ([cell, value]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read("company", [cell]), { company: value })
    }))

  it.effect.each<readonly [string, string]>([
    ["1990-3-4", "1990-03-04"],
    ["1990/03/14", "1990-03-14"],
    ["1990-03-14T00:00:00.000Z", "1990-03-14"],
    ["1990-03-14 00:00:00", "1990-03-14"],
    ["14.03.1990", "1990-03-14"],
    ["14/03/1990", "1990-03-14"],
    ["3/14/1990", "1990-03-14"],
    ["4/4/1990", "1990-04-04"],
    // These are rejected as they are: the order or the century is unknown.
    ["3/4/1990", "3/4/1990"],
    ["12/3/1990", "12/3/1990"],
    ["3/12/1990", "3/12/1990"],
    ["--03", "--03"],
    ["03/14/90", "03/14/90"],
    ["1990-03-14T23:00:00Z", "1990-03-14T23:00:00Z"]
  ])("%j is the birthday %j", ([cell, value]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read("Birthday", [cell]), { birthday: value })
    }))

  it.effect.each(["--03-14", "--3-4", "--0314"])(
    "%j is no birthday, because it has no year",
    (cell) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* read("Birthday", [cell]), {})
        const mapping = yield* map("Name,Birthday")
        assert.deepStrictEqual(yearlessBirthday(mapping, ["Ann", cell]), { column: "Birthday", text: cell })
        assert.isNull(yearlessBirthday(mapping, ["Ann", "1990-03-14"]))
      })
  )

  it.effect("is a stage or a status by its label, and stays as it is otherwise", () =>
    Effect.gen(function*() {
      const stages = ["Lead", "salesqualifiedlead", "Sales Qualified", "SUBSCRIBER", "Working - Contacted"]
      const found = yield* Effect.forEach(stages, (cell) => read("Lifecycle Stage", [cell]))
      assert.deepStrictEqual(found.map(({ lifecycle_stage }) => lifecycle_stage), [
        "lead",
        "sales_qualified",
        "sales_qualified",
        "subscriber",
        "Working - Contacted"
      ])
      assert.deepStrictEqual(yield* read("Lead Status", ["Attempted to contact"]), {
        lead_status: "attempted_to_contact"
      })
    }))
})
