// The icons of the page, as lines in a square of 20 by 20.
import { html, svg } from "lit-html"

/** @param {string} path */
const icon = (path) => html`<svg viewBox="0 0 20 20" aria-hidden="true">${svg`<path d=${path}></path>`}</svg>`

export const brandIcon = icon("M3 4h14v10H9l-4 3v-3H3z")
export const inboxIcon = icon("M3 10l2-6h10l2 6v6H3zM3 10h4l1 2h4l1-2h4")
export const requestsIcon = icon("M4 7h11l-3-3M16 13H5l3 3")
export const sendsIcon = icon("M3 10l14-6-5 13-3-5z")
export const webhooksIcon = icon("M6 13a3 3 0 1 0 3 3h5M8 5a3 3 0 1 1 4 4l2 4M14 13a3 3 0 1 1-2 5M9 9l-2.500 4.500")
export const eventsIcon = icon("M11 3L4 11h5l-1 6 7-8h-5z")
export const locationIcon = icon("M10 18c4-5 6-7.500 6-10a6 6 0 0 0-12 0c0 2.500 2 5 6 10zM10 6v4M8 8h4")
export const personIcon = icon(
  "M10 10a3.500 3.500 0 1 0 0-7a3.500 3.500 0 0 0 0 7M3.500 17.500c0-4 3-5.500 6.500-5.500s6.500 1.500 6.500 5.500"
)
export const orderIcon = icon("M2 3h2.500l2 10h9l2-7H5M7 17h.5M15 17h.5")
export const fileIcon = icon("M5 2h7l4 4v12H5zM12 2v4h4")
