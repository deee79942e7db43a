import { render } from "preact"
import { escapeRenderedText } from "./escape-text.ts"
import { listenToKeys } from "./keyboard.ts"
import { followOverview } from "./live.ts"
import { listenToLocation } from "./router.ts"
import { Shell } from "./shell/shell.tsx"
import { showInTab } from "./shell/tab.ts"
import { applyTheme } from "./theme.ts"

escapeRenderedText()
applyTheme()
listenToLocation()
listenToKeys()
followOverview()
const page = document.querySelector("#page")!
page.replaceChildren()
render(<Shell />, page)
showInTab()
