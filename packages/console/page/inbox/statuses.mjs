// The order of the statuses of an outbound message.

const order = ["sent", "delivered", "read"]

/**
 * Returns whether a status can replace another, because status updates can arrive in any order.
 *
 * @param {string} status
 * @param {string} before
 */
export const follows = (status, before) =>
  status === "failed" ? before === "sent" : order.indexOf(status) > order.indexOf(before)
