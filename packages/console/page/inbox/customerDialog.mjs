// The dialog for a message in a customer's name.
import { html } from "lit-html"
import { channelField, openDialog } from "../elements/dialog.mjs"
import { callOperation } from "../server.mjs"
import { state } from "../store.mjs"

/** Opens a dialog that sends a message in the name of a customer, who can be new. */
export const openCustomerDialog = () => {
  const fields = () =>
    html`${channelField(state.setup.channels)}
    <label>Customer’s number or ID<input name="from" required value="+4915112345678" autocomplete="off"></label>
    <label>Name<input name="name" value="Kim Example" autocomplete="off"></label>
    <label>Message<textarea name="text" rows="3" required></textarea></label>`
  openDialog(
    "Message from a customer",
    { submit: "Send as the customer" },
    fields,
    (valueOf) =>
      callOperation("writeAsCustomer", {
        channel_id: valueOf("channel_id"),
        from: valueOf("from"),
        name: valueOf("name") || null,
        text: valueOf("text")
      })
  )
}
