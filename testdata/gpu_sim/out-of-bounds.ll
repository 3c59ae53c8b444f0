; The last thread writes past the end of its result.
; REQUIRES: sim-kernel
; RUN: not %sim_kernel %s sanitize | FileCheck %s
; CHECK: error: {{.*}}out of bounds: offset 256 of argument 1

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %u = add i32 %t, 1
  %q = getelementptr float, ptr addrspace(1) %out, i32 %u
  store float %v, ptr addrspace(1) %q
  ret void
}
