; A shuffle takes the value of another lane, or its own at the end of the warp.
; REQUIRES: sim-kernel
; RUN: %sim_kernel %s sanitize | FileCheck %s
; RUN: %sim_kernel %s seed=5 sanitize | FileCheck %s
; CHECK:      16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
; CHECK-NEXT: 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
; CHECK-NEXT: 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
; CHECK-NEXT: 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load i32, ptr addrspace(1) %p
  %x = call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 %v, i32 16, i32 31)
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store i32 %x, ptr addrspace(1) %q
  ret void
}
