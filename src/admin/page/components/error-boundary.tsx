import { Component, type ComponentChildren } from "preact"
import { ErrorNote } from "./error-note.tsx"

/** Shows a fault of one view in its place; the rest of the page goes on. */
export class ErrorBoundary extends Component<{ children: ComponentChildren }, { error: unknown }> {
  override state = { error: undefined as unknown }

  static override getDerivedStateFromError = (error: unknown): { error: unknown } => ({ error })

  override componentDidCatch(error: unknown): void {
    console.error(error)
  }

  render() {
    if (this.state.error === undefined) return this.props.children
    return <ErrorNote error={this.state.error} retry={() => this.setState({ error: undefined })} />
  }
}
