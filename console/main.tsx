import { render } from "preact"
import { listenToKeys } from "./keyboard.ts"
import { listenToLocation } from "./router.ts"
import { Shell } from "./shell/shell.tsx"
import { followOverview } from "./store/live.ts"
import { applyTheme } from "./store/theme.ts"

applyTheme()
listenToLocation()
listenToKeys()
followOverview()
render(<Shell />, document.querySelector("#page")!)
