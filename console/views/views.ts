import type { ComponentType } from "preact"
import { overview } from "../live.ts"
import { Deliveries } from "./deliveries/deliveries.tsx"
import { Events } from "./events/events.tsx"
import { Connect } from "./first-run/first-run.tsx"
import { OverviewView } from "./overview/overview.tsx"
import { Refused } from "./refused/refused.tsx"
import { Send } from "./send/send.tsx"
import { Verify } from "./verify/verify.tsx"

/** What a tab leads to. A view reads the rest of the address from `route`. */
export interface View {
  /** The first part of its address. */
  readonly id: string
  readonly title: string
  /** `g` and this key go there. */
  readonly goKey: string
  readonly Component: ComponentType
  /** A count next to the title; 0: none. */
  badge?(): number
}

/** The views in the order of their tabs; the first is the one at `/`. */
export const VIEWS: readonly View[] = [
  { id: "overview", title: "Overview", goKey: "o", Component: OverviewView },
  { id: "events", title: "Events", goKey: "e", Component: Events },
  {
    id: "refused",
    title: "Refused",
    goKey: "r",
    Component: Refused,
    badge: () => overview.value?.refused ?? 0,
  },
  { id: "verify", title: "Verify", goKey: "v", Component: Verify },
  { id: "send", title: "Send", goKey: "s", Component: Send },
  { id: "connect", title: "Connect", goKey: "c", Component: Connect },
  { id: "replay", title: "Deliveries", goKey: "p", Component: Deliveries },
]

export const viewOf = (id: string): View => VIEWS.find((it) => it.id === id) ?? VIEWS[0]!
