import { Skeleton } from "../../components/skeleton.tsx"

export function Replay() {
  return <Skeleton rows={8} />
}
