import { Skeleton } from "../../components/skeleton.tsx"

export function Send() {
  return <Skeleton rows={8} />
}
