; A barrier is missing: threads read what others have not written yet.
; REQUIRES: sim-kernel
; RUN: not %sim_kernel %s sanitize | FileCheck %s
; CHECK: error: {{.*}}kernel of `sum`{{.*}}reads shared memory that no thread has written

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %v, ptr addrspace(3) %s
  %rev = sub i32 63, %t
  %s2 = getelementptr float, ptr addrspace(3) @tile, i32 %rev
  %w = load float, ptr addrspace(3) %s2
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %w, ptr addrspace(1) %q
  ret void
}
