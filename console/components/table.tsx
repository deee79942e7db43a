import type { ComponentChildren } from "preact"

interface TableProps {
  readonly caption: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ComponentChildren[])[]
}

/** A short table; where the window is narrow, each row is a list of its values with their names. */
export const Table = ({ caption, columns, rows }: TableProps) => (
  <table class="table">
    <caption>{caption}</caption>
    <thead>
      <tr>
        {columns.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((cells, at) => (
        <tr key={at}>
          {cells.map((text, column) => (
            <td key={column} data-name={columns[column]}>
              {text}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
