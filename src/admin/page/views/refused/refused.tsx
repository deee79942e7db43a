import { Skeleton } from "../../components/skeleton.tsx"

export function Refused() {
  return <Skeleton rows={8} />
}
