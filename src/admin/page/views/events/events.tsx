import { Skeleton } from "../../components/skeleton.tsx"

export function Events() {
  return <Skeleton rows={8} />
}
