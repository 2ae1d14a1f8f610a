// The frame of all dialogs, and the dialog for a message in a customer's name.
import { html, render } from "lit-html"
import { channelName } from "./formats.mjs"
import { callOperation, errorMessageOf, state } from "./store.mjs"
import { oneAtATime } from "./throttle.mjs"

/** Opens a dialog, which is removed when it closes. `run` receives a function that returns the value of a field. */
export const openDialog = (title, submit, fields, run) => {
  const element = document.createElement("dialog")
  document.body.append(element)
  let error = ""
  const submitOnce = oneAtATime(async (form) => {
    const values = new FormData(form)
    try {
      await run((name) => String(values.get(name) ?? ""))
      element.close()
    } catch (failure) {
      error = errorMessageOf(failure)
      show()
    }
  })
  const onSubmit = (event) => {
    event.preventDefault()
    void submitOnce(event.target)
  }
  const show = () =>
    render(
      html`<form @submit=${onSubmit}><h2>${title}</h2>${fields(show)}
        ${error === "" ? "" : html`<p class="error" role="alert">${error}</p>`}
        <div class="actions"><button type="button" @click=${() => element.close()}>Cancel</button>
          <button class="primary">${submit}</button></div></form>`,
      element
    )
  element.addEventListener("close", () => element.remove())
  show()
  element.showModal()
}

/** A field that selects one of these channels. */
export const channelField = (channels) =>
  html`<label>Channel<select name="channel_id">${
    channels.map((channel) => html`<option value=${channel.id}>${channel.name} (${channelName[channel.type]})</option>`)
  }</select></label>`

/** Asks for a message in the name of a customer, who can be new. */
export const openCustomerDialog = () => {
  const fields = () =>
    html`${channelField(state.setup.channels)}
    <label>Customer’s number or ID<input name="from" required value="+4915112345678" autocomplete="off"></label>
    <label>Name<input name="name" value="Kim Example" autocomplete="off"></label>
    <label>Message<textarea name="text" rows="3" required></textarea></label>`
  openDialog("Message from a customer", "Send as the customer", fields, (valueOf) =>
    callOperation("writeAsCustomer", {
      channel_id: valueOf("channel_id"),
      from: valueOf("from"),
      name: valueOf("name") || null,
      text: valueOf("text")
    }))
}
