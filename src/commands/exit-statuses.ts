/** The exit statuses of the command line; those from 64 to 78 are of sysexits.h. For the help, the man page and docs/command-line.md. */
export const EXIT_STATUSES: { readonly [status: number]: string } = {
  0: "success; `run`: stopped after draining; `tail --follow`, `status --watch`, `dev`, `forward`: interrupted",
  1: "`verify`: the request is refused; `send`: a response other than 2xx, or none; `log check`, `log rescue`: records can't be read; `spool drain`: events are left; `replay`, `forward retry`: records were refused, or are no longer in the log; `reload`: a replica has not reloaded",
  64: "wrong command line",
  65: "the record is larger than the broker accepts",
  66: "a named file or folder does not exist or can't be read",
  69: "unavailable: a port in use, a log or spool in use by another process, a topic that does not exist, a broker that can't be reached, a package that is not installed",
  70: "a fault in Hookline",
  74: "the disk can't be read or written",
  77: "the broker refuses the client: not authorized; the target of `replay` or `forward` refuses a record",
  78: "wrong configuration",
  130: "interrupted (SIGINT)",
  141: "the reading end of the pipe was closed (SIGPIPE), as by `head`",
  143: "terminated (SIGTERM)",
}
