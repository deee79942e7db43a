;; Whether a text is one JSON object (RFC 8259), up to 64 levels deep. Its bytes are valid UTF-8, begin at 16, and end in
;; a 0, which is nowhere valid; 16 bytes more can be read. No answer (0) for what may still be one: check.ts decides.
(module
  (memory (export "memory") 17)

  ;; The position after white space.
  (func $space (param $p i32) (result i32)
    (local $c i32)
    (loop $next
      (local.set $c (i32.load8_u (local.get $p)))
      (if (i32.le_u (local.get $c) (i32.const 0x20))
        (then
          ;; tab, line feed, carriage return, space
          (if (i32.and (i32.wrap_i64 (i64.shr_u (i64.const 0x100002600) (i64.extend_i32_u (local.get $c)))) (i32.const 1))
            (then
              (local.set $p (i32.add (local.get $p) (i32.const 1)))
              (br $next))))))
    (local.get $p))

  (func $isHex (param $c i32) (result i32)
    (i32.or
      (i32.lt_u (i32.sub (local.get $c) (i32.const 0x30)) (i32.const 10))
      (i32.lt_u (i32.sub (i32.or (local.get $c) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))

  ;; Whether a letter ends an escape: " / \ and, by their distance from b, b f n r t.
  (func $isEscaped (param $c i32) (result i32)
    (local $d i32)
    (local.set $d (i32.sub (local.get $c) (i32.const 0x62)))
    (i32.or
      (i32.or
        (i32.eq (local.get $c) (i32.const 0x22))
        (i32.or (i32.eq (local.get $c) (i32.const 0x2f)) (i32.eq (local.get $c) (i32.const 0x5c))))
      (i32.and
        (i32.lt_u (local.get $d) (i32.const 19))
        (i32.shr_u (i32.const 0x51011) (local.get $d)))))

  ;; The position after a string, from after its opening quote; 0: invalid.
  (func $string (param $p i32) (result i32)
    (local $v v128) (local $m i32) (local $c i32)
    (loop $more
      (local.set $v (v128.load (local.get $p)))
      (local.set $m
        (i8x16.bitmask
          (v128.or
            (v128.or
              (i8x16.eq (local.get $v) (i8x16.splat (i32.const 0x22)))
              (i8x16.eq (local.get $v) (i8x16.splat (i32.const 0x5c))))
            (i8x16.lt_u (local.get $v) (i8x16.splat (i32.const 0x20))))))
      (if (i32.eqz (local.get $m))
        (then
          (local.set $p (i32.add (local.get $p) (i32.const 16)))
          (br $more)))
      (local.set $p (i32.add (local.get $p) (i32.ctz (local.get $m))))
      (local.set $c (i32.load8_u (local.get $p)))
      (if (i32.eq (local.get $c) (i32.const 0x22))
        (then (return (i32.add (local.get $p) (i32.const 1)))))
      (if (i32.ne (local.get $c) (i32.const 0x5c)) (then (return (i32.const 0))))
      ;; escapes may come in a row
      (loop $escape
        (local.set $c (i32.load8_u offset=1 (local.get $p)))
        (local.set $p (i32.add (local.get $p) (i32.const 2)))
        (if (i32.eq (local.get $c) (i32.const 0x75))
          (then
            (if (i32.eqz (call $isHex (i32.load8_u (local.get $p)))) (then (return (i32.const 0))))
            (if (i32.eqz (call $isHex (i32.load8_u offset=1 (local.get $p)))) (then (return (i32.const 0))))
            (if (i32.eqz (call $isHex (i32.load8_u offset=2 (local.get $p)))) (then (return (i32.const 0))))
            (if (i32.eqz (call $isHex (i32.load8_u offset=3 (local.get $p)))) (then (return (i32.const 0))))
            (local.set $p (i32.add (local.get $p) (i32.const 4))))
          (else
            (if (i32.eqz (call $isEscaped (local.get $c))) (then (return (i32.const 0))))))
        (br_if $escape (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x5c))))
      (br $more))
    (unreachable))

  ;; The position after one or more digits; 0: there is none.
  (func $digits (param $p i32) (result i32)
    (if (i32.ge_u (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)) (i32.const 10))
      (then (return (i32.const 0))))
    (loop $more
      (local.set $p (i32.add (local.get $p) (i32.const 1)))
      (br_if $more (i32.lt_u (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)) (i32.const 10))))
    (local.get $p))

  ;; The position after a number; 0: invalid.
  (func $number (param $p i32) (result i32)
    (local $c i32)
    (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x2d))
      (then (local.set $p (i32.add (local.get $p) (i32.const 1)))))
    (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x30))
      (then (local.set $p (i32.add (local.get $p) (i32.const 1))))
      (else
        (local.set $p (call $digits (local.get $p)))
        (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))))
    (if (i32.eq (i32.load8_u (local.get $p)) (i32.const 0x2e))
      (then
        (local.set $p (call $digits (i32.add (local.get $p) (i32.const 1))))
        (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))))
    (if (i32.eq (i32.or (i32.load8_u (local.get $p)) (i32.const 0x20)) (i32.const 0x65))
      (then
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (local.set $c (i32.load8_u (local.get $p)))
        (if (i32.or (i32.eq (local.get $c) (i32.const 0x2b)) (i32.eq (local.get $c) (i32.const 0x2d)))
          (then (local.set $p (i32.add (local.get $p) (i32.const 1)))))
        (local.set $p (call $digits (local.get $p)))))
    (local.get $p))

  (func (export "isObject") (param $bytes i32) (result i32)
    (local $p i32) (local $c i32) (local $depth i32)
    ;; the kinds of the open containers, one bit each, the innermost lowest, 1 for an object
    (local $kinds i64)
    (local.set $p (call $space (i32.const 16)))
    (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x7b)) (then (return (i32.const 0))))
    (loop $value
      (local.set $p (call $space (local.get $p)))
      (if (i32.and (i32.wrap_i64 (local.get $kinds)) (i32.const 1))
        (then
          (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x22)) (then (return (i32.const 0))))
          (local.set $p (call $string (i32.add (local.get $p) (i32.const 1))))
          (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
          (local.set $p (call $space (local.get $p)))
          (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x3a)) (then (return (i32.const 0))))
          (local.set $p (call $space (i32.add (local.get $p) (i32.const 1))))))
      (local.set $c (i32.load8_u (local.get $p)))
      (block $ended
        (if (i32.eq (local.get $c) (i32.const 0x22))
          (then
            (local.set $p (call $string (i32.add (local.get $p) (i32.const 1))))
            (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
            (br $ended)))
        ;; { or [
        (if (i32.eq (i32.or (local.get $c) (i32.const 0x20)) (i32.const 0x7b))
          (then
            (if (i32.eq (local.get $depth) (i32.const 64)) (then (return (i32.const 0))))
            (local.set $depth (i32.add (local.get $depth) (i32.const 1)))
            (local.set $kinds
              (i64.or (i64.shl (local.get $kinds) (i64.const 1)) (i64.extend_i32_u (i32.eq (local.get $c) (i32.const 0x7b)))))
            (local.set $p (call $space (i32.add (local.get $p) (i32.const 1))))
            ;; their ends are two further in ASCII
            (br_if $value (i32.ne (i32.load8_u (local.get $p)) (i32.add (local.get $c) (i32.const 2))))
            (br $ended)))
        (if (i32.or (i32.eq (local.get $c) (i32.const 0x2d)) (i32.lt_u (i32.sub (local.get $c) (i32.const 0x30)) (i32.const 10)))
          (then
            (local.set $p (call $number (local.get $p)))
            (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
            (br $ended)))
        (local.set $c (i32.load (local.get $p)))
        (local.set $p (i32.add (local.get $p) (i32.const 4)))
        ;; true, null, fals
        (br_if $ended (i32.eq (local.get $c) (i32.const 0x65757274)))
        (br_if $ended (i32.eq (local.get $c) (i32.const 0x6c6c756e)))
        (if (i32.ne (local.get $c) (i32.const 0x736c6166)) (then (return (i32.const 0))))
        (if (i32.ne (i32.load8_u (local.get $p)) (i32.const 0x65)) (then (return (i32.const 0))))
        (local.set $p (i32.add (local.get $p) (i32.const 1))))
      (loop $close
        (local.set $p (call $space (local.get $p)))
        (if (i32.eqz (local.get $depth))
          (then (return (i32.eq (local.get $p) (i32.add (local.get $bytes) (i32.const 16))))))
        (local.set $c (i32.load8_u (local.get $p)))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br_if $value (i32.eq (local.get $c) (i32.const 0x2c)))
        ;; ] or }
        (if (i32.ne (local.get $c) (select (i32.const 0x7d) (i32.const 0x5d) (i32.and (i32.wrap_i64 (local.get $kinds)) (i32.const 1))))
          (then (return (i32.const 0))))
        (local.set $depth (i32.sub (local.get $depth) (i32.const 1)))
        (local.set $kinds (i64.shr_u (local.get $kinds) (i64.const 1)))
        (br $close)))
    (i32.const 0)))
