; Thread t reads what thread t - 1 wrote: right in natural order, without a barrier. The sanitizer sees the race.
; REQUIRES: sim-kernel
; RUN: %sim_kernel %s | FileCheck %s --check-prefix=HIDDEN
; RUN: not %sim_kernel %s sanitize | FileCheck %s
; HIDDEN: 0 0 1 2 3 4
; CHECK: error: {{.*}}a race in shared memory

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %v, ptr addrspace(3) %s
  %m = sub i32 %t, 1
  %prev = call i32 @llvm.smax.i32(i32 %m, i32 0)
  %s2 = getelementptr float, ptr addrspace(3) @tile, i32 %prev
  %w = load float, ptr addrspace(3) %s2
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %w, ptr addrspace(1) %q
  ret void
}
