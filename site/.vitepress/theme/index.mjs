// The default theme, and the diagrams of the guides as pictures.
import { useData, useRoute } from "vitepress"
import theme from "vitepress/theme"
import { nextTick, onMounted, watch } from "vue"
import "./style.css"

/** Draws the diagrams of the current page in the colors of its appearance. */
const draw = async (isDark) => {
  const blocks = document.querySelectorAll("div.language-mermaid")
  if (blocks.length === 0) return
  const { default: mermaid } = await import("mermaid")
  mermaid.initialize({ startOnLoad: false, theme: isDark ? "dark" : "neutral" })
  for (const [number, block] of blocks.entries()) {
    // From top to bottom, its texts are large enough on a phone too.
    block.dataset.source ??= block.querySelector("code").textContent.replace("flowchart LR", "flowchart TB")
    const { svg } = await mermaid.render(`diagram-${number}`, block.dataset.source)
    block.innerHTML = svg
  }
}

export default {
  extends: theme,
  setup() {
    const { isDark } = useData()
    const route = useRoute()
    const drawAll = () => nextTick(() => draw(isDark.value))
    onMounted(drawAll)
    watch([isDark, () => route.path], drawAll)
  }
}
