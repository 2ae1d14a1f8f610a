// The statuses of a message that was sent.

const order = ["sent", "delivered", "read"]

/** Returns whether a status may replace another: reports can arrive in any order. */
export const follows = (status, before) =>
  status === "failed" ? before === "sent" : order.indexOf(status) > order.indexOf(before)
