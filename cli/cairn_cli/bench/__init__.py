# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn bench`: workloads on several engines under stated conditions, measured exactly."""
