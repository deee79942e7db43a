import { Skeleton } from "../../components/skeleton.tsx"

export function OverviewView() {
  return <Skeleton rows={8} />
}
