import { reference, sections } from "../pages.mjs"

/** GitHub's name of a heading, so that a link with an anchor works on both. */
const slugify = (heading) => heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")

const linkOf = ({ path }) => `/${path.replace(/(index)?\.md$/, "")}`

export default {
  title: "Messaging CRM",
  description: "A self-hosted REST API for customer conversations on WhatsApp, Instagram, and Messenger.",
  base: process.env.SITE_BASE ?? "/",
  srcDir: "build/pages",
  outDir: "../build/site",
  cacheDir: "build/cache",
  cleanUrls: false,
  lastUpdated: false,
  ignoreDeadLinks: [reference],
  head: [["link", { rel: "icon", href: "data:," }]],
  markdown: { anchor: { slugify }, html: true },
  themeConfig: {
    nav: [
      { text: "Guides", link: "/guides" },
      { text: "API reference", link: reference, target: "_self" },
      { text: "Contract", link: "/contract" },
      { text: "Changelog", link: "/repository/CHANGELOG" }
    ],
    sidebar: sections.map(({ guides, title }) => ({
      text: title,
      collapsed: false,
      items: guides.map(({ page, title }) => ({ text: title, link: linkOf(page) }))
    })),
    outline: { level: [2, 3] },
    search: { provider: "local" }
  }
}
